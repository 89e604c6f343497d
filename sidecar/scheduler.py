"""Periodic jobs: APScheduler behind the few verbs that the daemon needs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

log = logging.getLogger(__name__)

#: Share of an interval by which runs are shifted at random, so that agents do not march in step.
JITTER_SHARE = 0.1
#: How often the clock is looked at, and by how much it must have been set back to be more than a correction.
LOOK_S = 15.0
LEAST_JUMP_S = 1.0


class Scheduler:
    """Runs coroutines at intervals: one run of a job at a time, missed runs joined into one.

    `wall` is the time in Unix seconds. Runs are planned by it, so that a machine that slept catches up; when it is
    set back, which is looked for every `look_s` seconds, they are moved along with it.
    """

    def __init__(self, *, wall: Callable[[], float] = time.time, look_s: float = LOOK_S) -> None:
        self._jobs = AsyncIOScheduler(timezone=UTC)
        self._wall = wall
        self._look_s = look_s
        self._ahead_s = self._ahead()
        self._look: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin; jobs may be added before or after."""
        self._jobs.start()
        self._keep_looking()

    def _ahead(self) -> float:
        """How far the clock is ahead of the one that nobody sets."""
        return self._wall() - time.monotonic()

    def _keep_looking(self) -> None:
        before, self._ahead_s = self._ahead_s, self._ahead()
        if self._ahead_s < before - LEAST_JUMP_S:
            self._move_runs(timedelta(seconds=self._ahead_s - before))
        self._look = asyncio.get_running_loop().call_later(self._look_s, self._keep_looking)

    def _move_runs(self, by: timedelta) -> None:
        log.warning("the clock was set back", extra={"fields": {"seconds": round(-by.total_seconds(), 1)}})
        for job in self._jobs.get_jobs():
            if job.next_run_time:
                job.modify(next_run_time=job.next_run_time + by)

    def stop(self) -> None:
        """Start no further run. Runs in progress belong to whoever awaits them."""
        if self._look is not None:
            self._look.cancel()
        if self._jobs.running:
            self._jobs.shutdown(wait=False)

    def every(
        self, interval_s: float, name: str, job: Callable[[], Awaitable[None]], *, first_in_s: float | None = None
    ) -> None:
        """Run `job` every `interval_s` seconds, first after `first_in_s` (default: one interval). 0 is never."""
        if interval_s <= 0:
            return
        first = datetime.now(UTC) + timedelta(seconds=interval_s if first_in_s is None else first_in_s)
        self._jobs.add_job(
            _logged(name, job),
            IntervalTrigger(seconds=interval_s, jitter=interval_s * JITTER_SHARE, timezone=UTC),
            id=name,
            next_run_time=first,
            max_instances=1,
            coalesce=True,
            # A laptop that slept through a run should catch up at once, not skip it.
            misfire_grace_time=None,
            replace_existing=True,
        )

    def cancel(self, name: str) -> None:
        """Never run a job again; one that nobody knows is none."""
        if self._jobs.get_job(name):
            self._jobs.remove_job(name)

    def overdue_s(self) -> float:
        """How long the job that waits longest should have begun by now: seconds, unless nobody looks any more."""
        runs = [job.next_run_time for job in self._jobs.get_jobs() if job.next_run_time]
        return max(0.0, (datetime.now(UTC) - min(runs)).total_seconds()) if runs else 0.0

    def next_run(self, name: str) -> float | None:
        """When the job runs next, in Unix seconds."""
        job = self._jobs.get_job(name)
        return job.next_run_time.timestamp() if job and job.next_run_time else None


def _logged(name: str, job: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        try:
            await job()
        except Exception:
            log.exception("job failed", extra={"fields": {"job": name}})

    return run
