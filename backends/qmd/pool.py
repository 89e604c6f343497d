"""The residents of all agents: one each at most, few in all, none for long without use."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from backends.base import BackendError
from backends.qmd.resident import Resident

log = logging.getLogger(__name__)

#: A resident idle for this long gives its place to another agent; a younger one keeps it.
GIVES_WAY_AFTER_S = 60.0
#: A resident that lived for this long was a good one: its death starts the pauses anew.
_PROVEN_AFTER_S = 60.0
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 60.0

Start = Callable[[], Awaitable[Resident]]


@dataclass(slots=True)
class _Place:
    """One agent's place: its resident, a dead one not yet buried, the start under way, and how starting went."""

    resident: Resident | None = None
    leaving: Resident | None = None
    starting: asyncio.Task[None] | None = None
    started_at: float = 0.0
    failures: int = 0
    not_before: float = 0.0
    why: BackendError | None = None

    @property
    def taken(self) -> bool:
        return self.starting is not None or (self.resident is not None and self.resident.alive)


class ResidentPool:
    """At most `limit` residents, retired after `idle_s` seconds without a call or beyond `max_rss_bytes`.

    `clock` is monotonic time in seconds.
    """

    def __init__(
        self,
        *,
        limit: int = 4,
        idle_s: float = 900,
        max_rss_bytes: int = 1024 * 1024 * 1024,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = limit
        self._idle_s = idle_s
        self._max_rss_bytes = max_rss_bytes
        self._clock = clock
        self._places: dict[str, _Place] = {}
        self._sweeper: asyncio.Task[None] | None = None

    async def lease(self, key: str, start: Start, *, wait_s: float) -> Resident | None:
        """The resident of `key`, started when there is room, waiting at most `wait_s` for it.

        None when there is no room, when it is not ready in time (it goes on starting), or while a pause
        after failed starts lasts; `why_not` then tells the last failure.
        """
        place = self._places.setdefault(key, _Place())
        if place.resident is not None and place.resident.alive:
            return place.resident
        if place.starting is None and not self._begin(place, start):
            return None
        if place.starting is not None:
            await asyncio.wait({place.starting}, timeout=wait_s)
        return place.resident if place.resident is not None and place.resident.alive else None

    def state(self, key: str) -> str:
        """One word: `running`, `starting`, `pausing` after failed starts, or `none`."""
        place = self._places.get(key)
        if place is None:
            return "none"
        if place.starting is not None:
            return "starting"
        if self.current(key) is not None:
            return "running"
        return "pausing" if self._clock() < place.not_before else "none"

    def why_not(self, key: str) -> BackendError | None:
        """Why the last start of `key` failed; None when it did not."""
        place = self._places.get(key)
        return place.why if place else None

    def current(self, key: str) -> Resident | None:
        """The living resident of `key`, without starting one."""
        place = self._places.get(key)
        return place.resident if place and place.resident and place.resident.alive else None

    async def retire(self, key: str) -> None:
        """End the resident of `key`, started or starting, and forget its failures."""
        place = self._places.pop(key, None)
        if place is not None:
            await _vacate(place)

    async def close(self) -> None:
        """End all of them. The pool may be used again."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
            self._sweeper = None
        places, self._places = list(self._places.values()), {}
        await asyncio.gather(*(_vacate(place) for place in places))

    async def sweep(self) -> None:
        """Retire those that are idle for long, or too large."""
        for place in list(self._places.values()):
            resident = place.resident
            if resident is None or not resident.alive or resident.busy:
                continue
            idle = self._clock() - resident.used_at > self._idle_s
            if resident.measure() > self._max_rss_bytes or idle:
                log.info("resident retired", extra={"fields": {"pid": resident.pid, "idle": idle}})
                await _vacate(place)

    def _begin(self, place: _Place, start: Start) -> bool:
        """Begin a start if it is time for one and there is room. No await: two callers cannot take one place."""
        if place.resident is not None:
            place.leaving, place.resident = place.resident, None
            self._failed(place, None)
        if self._clock() < place.not_before:
            return False
        room, giving_way = self._room(place)
        if room:
            leaving = [resident for resident in (place.leaving, giving_way) if resident is not None]
            place.leaving = None
            place.starting = asyncio.create_task(self._start(place, start, leaving))
            self._watch()
        return room

    async def _start(self, place: _Place, start: Start, leaving: Sequence[Resident]) -> None:
        try:
            for resident in leaving:
                await resident.end()
            place.resident = await start()
            place.resident.measure()
            place.started_at, place.why = self._clock(), None
        except BackendError as error:
            self._failed(place, error)
        finally:
            place.starting = None

    def _failed(self, place: _Place, why: BackendError | None) -> None:
        """Count a failed start (`why`) or a death. The first is repeated at once, then pauses grow."""
        if why is None and self._clock() - place.started_at > _PROVEN_AFTER_S:
            place.failures = 0
        pause_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** (place.failures - 1)) if place.failures else 0.0
        place.failures = min(place.failures + 1, 16)
        place.not_before, place.why = self._clock() + pause_s, why and why.to_keep()
        if place.failures == 1:
            log.warning("resident lost", extra={"fields": {"reason": why.failure if why else "died"}})

    def _room(self, wanted: _Place) -> tuple[bool, Resident | None]:
        """Whether there is room, and who has to leave for it."""
        others = [place for place in self._places.values() if place is not wanted and place.taken]
        if len(others) < self._limit:
            return True, None
        idle = [place for place in others if place.resident and not place.resident.busy and not place.starting]
        oldest = min(idle, key=_used_at, default=None)
        if oldest is None or self._clock() - _used_at(oldest) < GIVES_WAY_AFTER_S:
            return False, None
        leaving, oldest.resident = oldest.resident, None
        return True, leaving

    def _watch(self) -> None:
        if self._sweeper is None or self._sweeper.done():
            self._sweeper = asyncio.create_task(self._sweep_for_ever())

    async def _sweep_for_ever(self) -> None:
        while True:
            await asyncio.sleep(max(0.05, min(self._idle_s / 4, 30.0)))
            await self.sweep()


async def _vacate(place: _Place) -> None:
    if place.starting is not None:
        place.starting.cancel()
        await asyncio.gather(place.starting, return_exceptions=True)
    residents = (place.resident, place.leaving)
    place.resident = place.leaving = None
    for resident in residents:
        if resident is not None:
            await resident.end()


def _used_at(place: _Place) -> float:
    return place.resident.used_at if place.resident else 0.0
