"""Periodic jobs: they come round, one at a time, and a failure stops nothing."""

from __future__ import annotations

import asyncio
import time

from sidecar.scheduler import Scheduler


def test_a_failing_job_comes_round_again() -> None:
    """The first failure does not end the interval."""

    async def scenario() -> None:
        runs, again = 0, asyncio.Event()

        async def job() -> None:
            nonlocal runs
            runs += 1
            if runs == 2:
                again.set()
            raise RuntimeError("as told")

        scheduler = Scheduler()
        scheduler.every(0.05, "job", job, first_in_s=0)
        scheduler.start()
        async with asyncio.timeout(10):
            await again.wait()
        scheduler.stop()

    asyncio.run(scenario())


def test_a_slow_job_never_runs_twice_at_once() -> None:
    """Missed runs are joined, not stacked."""

    async def scenario() -> None:
        running = most = runs = 0
        enough = asyncio.Event()

        async def job() -> None:
            nonlocal running, most, runs
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.1)
            running -= 1
            runs += 1
            if runs == 3:
                enough.set()

        scheduler = Scheduler()
        scheduler.every(0.02, "job", job, first_in_s=0)
        scheduler.start()
        async with asyncio.timeout(10):
            await enough.wait()
        scheduler.stop()
        assert most == 1

    asyncio.run(scenario())


def test_an_interval_of_zero_is_off_and_the_next_run_is_known() -> None:
    """What operators read as `nextUpdateAt`."""

    async def scenario() -> None:
        async def job() -> None:
            raise AssertionError("not due yet")

        scheduler = Scheduler()
        scheduler.every(0, "never", job)
        scheduler.every(3600, "hourly", job)
        scheduler.start()
        assert scheduler.next_run("never") is None
        due = scheduler.next_run("hourly")
        assert due is not None
        assert 3000 < due - time.time() < 4200
        scheduler.stop()

    asyncio.run(scenario())


def test_how_late_the_next_job_is_tells_whether_anybody_looks() -> None:
    """A job that is due and does not begin grows overdue; a scheduler that runs leaves none."""

    async def scenario() -> None:
        ran = asyncio.Event()

        async def job() -> None:
            ran.set()

        scheduler = Scheduler()
        assert scheduler.overdue_s() == 0
        scheduler.every(3600, "job", job, first_in_s=-60)
        assert scheduler.overdue_s() >= 60
        scheduler.start()
        async with asyncio.timeout(10):
            await ran.wait()
        assert scheduler.overdue_s() == 0
        scheduler.stop()

    asyncio.run(scenario())


def test_a_clock_that_is_set_back_delays_no_job() -> None:
    """Else one that was a year ahead would end all upkeep for a year; what is due in three days stays that."""
    day_s = 86_400.0

    async def scenario() -> None:
        async def job() -> None:
            raise AssertionError("not due yet")

        ahead_s = day_s
        scheduler = Scheduler(wall=lambda: time.time() + ahead_s, look_s=0.005)
        scheduler.every(3 * day_s, "job", job)
        scheduler.start()
        before = scheduler.next_run("job")
        assert before is not None
        ahead_s = 0.0
        async with asyncio.timeout(10):
            while (after := scheduler.next_run("job")) == before:
                await asyncio.sleep(0.005)
        assert after is not None
        assert abs(before - day_s - after) < 60
        scheduler.stop()

    asyncio.run(scenario())
