"""Two engines and a circuit breaker, seen as one `Backend`.

The first choice is asked first. When it has used most of the time, or fails, the second choice answers the
same call in time, and the answer says why. While the breaker is open only the second is asked; a probe
through the real search path brings the first one back without a restart.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from backends.base import (
    Answer,
    Backend,
    BackendError,
    BackendStatus,
    Failure,
    Fallback,
    Hit,
    Notice,
    Query,
    SyncReport,
    SyncRequest,
)
from backends.breaker import Breaker, Tripped

log = logging.getLogger(__name__)

#: Share of the time that the first choice has for itself before the second starts beside it.
HEDGE_SHARE = 0.6
#: Share of the time kept back for cutting, limits and the reply.
RESERVE_SHARE = 0.05
#: A call with less time than that says nothing about an engine that was late: a process takes some 0.3 s to answer.
FAIR_S = 0.5
PROBE_WORDS = "memory notes"
PROBE_TIMEOUT_S = 10.0


class Failover:
    """`primary` when it works, `secondary` when it does not.

    `optional` says that a missing `primary` was only wanted if present: it is told, but nobody is warned. With
    `merge` both answer every call and the best passages of both are kept. `agent_id` is for the log. `wall` is Unix
    time, `clock` monotonic, in seconds. `on_switch` is called when the breaker opens, with the reason, and when it
    closes again, with None.
    """

    name = "failover"

    def __init__(
        self,
        primary: Backend,
        secondary: Backend,
        *,
        optional: bool = False,
        merge: bool = False,
        agent_id: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        on_switch: Callable[[Fallback | None], None] = lambda _: None,
    ) -> None:
        self._primary = primary
        self._secondary = secondary
        self._optional = optional
        self._merge = merge
        self._agent_id = agent_id
        self._clock = clock
        self._wall = wall
        self._on_switch = on_switch
        self.breaker = Breaker()
        self._probing: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()
        self._shape: Query | None = None

    async def search(self, query: Query) -> Answer:
        """Answer with the best engine that can answer in time. Raises `BackendError` when neither can."""
        self._shape = query
        if self.breaker.tripped is not None:
            return await self._instead(query, self.breaker.tripped)
        return await (self._both(query) if self._merge else self._hedged(query))

    async def _hedged(self, query: Query) -> Answer:
        """Ask the first engine; start the second beside it when most of the time is gone, or at once on failure."""
        left_s = query.deadline_at - self._clock()
        first = asyncio.create_task(self._ask_primary(query, left_s))
        second: asyncio.Task[Answer] | None = None
        try:
            done, _ = await asyncio.wait({first}, timeout=left_s * HEDGE_SHARE)
            if not done:
                second = asyncio.create_task(self._secondary.search(query))
            return await first
        except BackendError as error:
            return await self._instead(query, self._tripped(error), second)
        finally:
            await _drop(first, second)

    async def _both(self, query: Query) -> Answer:
        second = asyncio.create_task(self._secondary.search(query))
        try:
            answer = await self._ask_primary(query, query.deadline_at - self._clock())
            return await self._joined(answer, second, limit=query.max_results)
        except BackendError as error:
            return await self._instead(query, self._tripped(error), second)
        finally:
            await _drop(second)

    async def _joined(self, first: Answer, second: asyncio.Task[Answer], *, limit: int) -> Answer:
        try:
            return merged(first, await second, limit=limit)
        except BackendError as error:
            message = f"Only {first.engine} answered; {self._secondary.name} did not: {error.message}"
            return replace(first, notices=(*first.notices, Notice("merge_unfinished", message, error.hint)))

    async def _ask_primary(self, query: Query, left_s: float) -> Answer:
        """Ask the first engine, which has to know its own deadline; the outer one only guards against a deaf engine."""
        own_deadline = query.deadline_at - left_s * RESERVE_SHARE * 2
        try:
            async with asyncio.timeout(left_s * (1 - RESERVE_SHARE)):
                answer = await self._primary.search(replace(query, deadline_at=own_deadline))
        except TimeoutError:
            error = _too_late()
            self._note(error, left_s)
            raise error from None
        except BackendError as error:
            self._note(error, left_s)
            raise
        self.breaker.succeeded()
        return answer

    async def _instead(self, query: Query, why: Tripped, running: asyncio.Task[Answer] | None = None) -> Answer:
        """The second engine's answer, marked with the reason why it was asked."""
        answer = await (running or self._secondary.search(query))
        return replace(answer, fallback=self._fallback(why))

    def _note(self, error: BackendError, had_s: float) -> None:
        """Report a failure of the first engine, which had `had_s` seconds; probe when it opened the breaker."""
        if error.failure is Failure.TIMEOUT and had_s < FAIR_S:
            return
        if not self.breaker.failed(error.failure, at=self._wall()):
            return
        if not (self._optional and error.failure is Failure.MISSING):
            fields = {"agent": self._agent_id, "from": self._primary.name, "reason": error.failure}
            log.warning("engine failed over", extra={"fields": fields})
            self._on_switch(self._fallback(self.breaker.tripped))
        self._probing = asyncio.create_task(self._probe_until_closed())

    def _tripped(self, error: BackendError) -> Tripped:
        return self.breaker.tripped or Tripped(reason=error.failure, since=self._wall())

    def _fallback(self, why: Tripped | None) -> Fallback | None:
        if why is None:
            return None
        return Fallback(origin=self._primary.name, reason=why.reason, since=why.since)

    async def _probe_until_closed(self) -> None:
        while not self.breaker.closed:
            await self._pause()
            self.breaker.probe()
            try:
                await self._probe()
            except BackendError as error:
                self.breaker.probe_failed(error.failure, at=self._wall())
            except Exception:
                log.exception("probe crashed", extra={"fields": {"agent": self._agent_id}})
                self.breaker.probe_failed(Failure.EXITED, at=self._wall())
            else:
                self.breaker.probe_succeeded()
                fields = {"agent": self._agent_id, "engine": self._primary.name}
                log.info("engine recovered", extra={"fields": fields})
                self._on_switch(None)

    async def _pause(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.breaker.pause_s):
                await self._woken.wait()
        # Only now: a call that came during the probe before is a reason to probe again at once.
        self._woken.clear()

    def wake(self) -> None:
        """Probe now: something happened that may have healed the first engine, such as a sync that went well."""
        self._woken.set()

    async def _probe(self) -> None:
        """Search for real: the last query's shape with fixed words, so that what failed is what is tried."""
        assert self._shape is not None
        query = replace(self._shape, text=PROBE_WORDS, deadline_at=self._clock() + PROBE_TIMEOUT_S)
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                await self._primary.search(query)
        except TimeoutError:
            raise _too_late() from None

    async def sync(self, request: SyncRequest) -> SyncReport:
        """Sync both engines; the report adds them up. Raises what the last one standing raised."""
        results = await asyncio.gather(
            self._secondary.sync(request), self._primary.sync(request), return_exceptions=True
        )
        reports = [result for result in results if isinstance(result, SyncReport)]
        if not reports:
            raise next(result for result in results if isinstance(result, BaseException))
        return added_up(reports)

    def status(self) -> BackendStatus:
        """The engine in use, why, and both engines' own words.

        A first engine that is not ready is not in use, although the next search will still try it.
        """
        primary, secondary = self._primary.status(), self._secondary.status()
        in_use = primary if self.breaker.closed and (primary.ready or not secondary.ready) else secondary
        detail = {
            "breaker": self._breaker_facts(),
            primary.backend: primary.detail,
            secondary.backend: secondary.detail,
        }
        return replace(
            in_use,
            fallback=self._fallback(self.breaker.tripped),
            notices=(*primary.notices, *secondary.notices),
            detail=detail,
        )

    def _breaker_facts(self) -> dict[str, Any]:
        """`{of, state, optional, reason?, since?, nextProbeAt?}`; times are Unix seconds.

        `optional` tells a first engine that was only wanted if present from one that is missed.
        """
        breaker = self.breaker
        facts: dict[str, Any] = {"of": self._primary.name, "state": breaker.state, "optional": self._optional}
        if breaker.tripped is not None:
            facts |= {"reason": breaker.tripped.reason, "since": breaker.tripped.since}
        return facts | ({"nextProbeAt": breaker.next_probe_at} if breaker.next_probe_at is not None else {})

    async def close(self) -> None:
        """Stop probing and close both engines."""
        await _drop(self._probing)
        await asyncio.gather(self._primary.close(), self._secondary.close())


def merged(first: Answer, second: Answer, *, limit: int) -> Answer:
    """The best passages of two answers; of two that share lines of a file, the better one."""
    kept: list[Hit] = []
    for hit in sorted((*first.hits, *second.hits), key=lambda hit: -hit.score):
        if not any(_overlap(hit, other) for other in kept):
            kept.append(hit)
    return replace(
        first,
        hits=tuple(kept[:limit]),
        partial=first.partial or second.partial,
        notices=(
            *first.notices,
            *second.notices,
            Notice("merged", f"both {first.engine} and {second.engine} answered"),
        ),
    )


def added_up(reports: Sequence[SyncReport]) -> SyncReport:
    """One report for several engines."""
    return SyncReport(
        engine="+".join(report.engine for report in reports),
        ran=any(report.ran for report in reports),
        changed=sum(report.changed for report in reports),
        removed=sum(report.removed for report in reports),
        unchanged=sum(report.unchanged for report in reports),
        embedded=sum(report.embedded for report in reports),
        cached=sum(report.cached for report in reports),
        skipped={path: why for report in reports for path, why in report.skipped.items()},
        detail="; ".join(report.detail for report in reports if report.detail),
        took_s=max(report.took_s for report in reports),
    )


def _overlap(one: Hit, other: Hit) -> bool:
    return one.path == other.path and one.start_line <= other.end_line and other.start_line <= one.end_line


def _too_late() -> BackendError:
    return BackendError(Failure.TIMEOUT, "the engine did not answer in time", hint="raise limits.timeoutMs")


async def _drop(*tasks: asyncio.Task[Answer] | asyncio.Task[None] | None) -> None:
    """Cancel what still runs and take its result, so that no exception is left unread."""
    left = [task for task in tasks if task is not None]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
