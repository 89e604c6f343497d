"""What happens, told to whoever listens: a short memory of events, and any number of readers that each keep a place.

A reader that is slower than what happens misses events, and is told how many; it holds nothing up, and nothing is kept
for it alone.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

Event: TypeAlias = dict[str, Any]

#: Some minutes of a busy daemon.
KEPT = 512
HEARTBEAT_S = 15.0


class EventType(StrEnum):
    """Every kind of event."""

    AGENT_STATE = "agent_state"
    NOTICE_APPEARED = "notice_appeared"
    NOTICE_GONE = "notice_gone"
    ENGINE_FAILED_OVER = "engine_failed_over"
    ENGINE_RECOVERED = "engine_recovered"
    SYNC_BEGAN = "sync_began"
    SYNC_ENDED = "sync_ended"
    EMBED_PROGRESS = "embed_progress"
    RELOADED = "reloaded"
    DRAINING = "draining"
    DROPPED = "dropped"
    HEARTBEAT = "heartbeat"


class Publish(Protocol):
    """How to tell of something that happened. Facts are JSON, and never query or memory text."""

    def __call__(self, what: EventType, agent: str | None = None, **facts: Any) -> None:
        """Tell it now, from the event loop; never waits."""
        ...


def unheard(what: EventType, agent: str | None = None, **facts: Any) -> None:
    """For who has nobody to tell."""


class Bus:
    """The last `kept` events. `wall` is Unix time in seconds.

    Ids grow by one, and from one start of a daemon to the next: the first is the time of the start in milliseconds.
    """

    def __init__(self, *, kept: int = KEPT, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._kept: deque[Event] = deque(maxlen=kept)
        self._first = int(wall() * 1000)
        self._next = self._first
        self._news = asyncio.Event()
        self._closed = False

    def publish(self, what: EventType, agent: str | None = None, **facts: Any) -> None:
        """Add an event: `{id, time, type, agent?}` and its facts. A closed bus takes none."""
        if self._closed:
            return
        whose = {} if agent is None else {"agent": agent}
        self._kept.append({"id": self._next, "time": self._wall(), "type": what, **whose, **facts})
        self._next += 1
        self._wake()

    def close(self) -> None:
        """End every reader, behind what it has not read yet."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def follow(
        self, after: int | None = None, *, once: bool = False, heartbeat_s: float = HEARTBEAT_S
    ) -> AsyncIterator[Event]:
        """The events behind the id `after`, kept ones first; None for those to come. With `once`, no others.

        `dropped` stands for those that were kept no longer; `heartbeat` comes when nothing else has for `heartbeat_s`
        seconds. Both have the id from which to go on.
        """
        # An id from before the clock was set back would be ahead of everything that comes.
        newest = self._next - 1
        seen = min(after, newest) if after is not None else 0 if once else newest
        while True:
            news = self._news
            for event in self._behind(seen):
                seen = event["id"]
                yield event
            # While the reader was busy with these, others may have come.
            if news.is_set():
                continue
            if once or self._closed:
                return
            try:
                async with asyncio.timeout(heartbeat_s):
                    await news.wait()
            except TimeoutError:
                yield {"id": seen, "time": self._wall(), "type": EventType.HEARTBEAT}

    def _behind(self, seen: int) -> list[Event]:
        """What is kept of the events behind an id."""
        oldest = self._kept[0]["id"] if self._kept else self._next
        lost = oldest - 1 - max(seen, self._first - 1)
        told = [{"id": oldest - 1, "time": self._wall(), "type": EventType.DROPPED, "events": lost}] if lost > 0 else []
        return told + [event for event in self._kept if event["id"] > seen]
