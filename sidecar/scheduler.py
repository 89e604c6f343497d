"""Periodic jobs: APScheduler behind the few verbs that the daemon needs."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

log = logging.getLogger(__name__)

#: Share of an interval by which runs are shifted at random, so that agents do not march in step.
JITTER_SHARE = 0.1


class Scheduler:
    """Runs coroutines at intervals: one run of a job at a time, missed runs joined into one."""

    def __init__(self) -> None:
        self._jobs = AsyncIOScheduler(timezone=UTC)

    def start(self) -> None:
        """Begin; jobs may be added before or after."""
        self._jobs.start()

    def stop(self) -> None:
        """Start no further run. Runs in progress belong to whoever awaits them."""
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
