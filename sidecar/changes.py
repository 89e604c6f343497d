"""What nobody tells, seen by looking: the states and notices of agents, and how far embedding is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from sidecar.agents import Agent, look_at
from sidecar.events import EventType, Publish

log = logging.getLogger(__name__)

LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was seen of an agent; `progress` is `(done, total)` of the vectors of a sync under way."""

    state: str
    notices: frozenset[str]
    progress: tuple[int, int] | None

    @classmethod
    def of(cls, status: Mapping[str, Any]) -> Self:
        progress = status["engines"].get("builtin", {}).get("progress") or {}
        return cls(
            state=status["state"],
            notices=frozenset(notice["code"] for notice in status["notices"]),
            progress=(progress["done"], progress["total"]) if progress.get("phase") == "vectors" else None,
        )


class Changes:
    """Looks at `agents` every `look_s` seconds as long as somebody watches, and publishes what is other than before.

    The first look has nothing to compare with, and a later one tells what came of everything since the one before.
    """

    def __init__(self, agents: Iterable[Agent], publish: Publish, *, look_s: float = LOOK_S) -> None:
        self._agents = agents
        self._publish = publish
        self._look_s = look_s
        self._seen: dict[str, _Seen] = {}
        #: Whose status failed, which is told once.
        self._unseen: set[str] = set()
        self._watchers = 0
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Look inside the block."""
        self._watchers += 1
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_on())
        try:
            yield
        finally:
            self._watchers -= 1
            if not self._watchers:
                self._looking.cancel()
                self._looking = None

    async def _look_on(self) -> None:
        while True:
            await look_at(agent.workspace for agent in self._agents)
            self.look()
            await asyncio.sleep(self._look_s)

    def look(self) -> None:
        """Compare every agent with what was seen of it last."""
        before, self._seen = self._seen, dict(self._looks())
        for agent_id, now in self._seen.items():
            if agent_id in before:
                self._tell(agent_id, before[agent_id], now)

    def _looks(self) -> Iterator[tuple[str, _Seen]]:
        for agent in self._agents:
            try:
                yield agent.id, _Seen.of(agent.status())
            except Exception:
                if agent.id not in self._unseen:
                    log.exception("agent could not be looked at", extra={"fields": {"agent": agent.id}})
                self._unseen.add(agent.id)
            else:
                self._unseen.discard(agent.id)

    def _tell(self, agent_id: str, before: _Seen, now: _Seen) -> None:
        if now.state != before.state:
            self._publish(EventType.AGENT_STATE, agent_id, state=now.state, before=before.state)
        for code in sorted(now.notices - before.notices):
            self._publish(EventType.NOTICE_APPEARED, agent_id, code=code)
        for code in sorted(before.notices - now.notices):
            self._publish(EventType.NOTICE_GONE, agent_id, code=code)
        if now.progress is not None and now.progress != before.progress:
            done, total = now.progress
            self._publish(EventType.EMBED_PROGRESS, agent_id, done=done, total=total)
