"""The warm child and the pool that bounds how many there are."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from pathlib import Path

import pytest

from backends.base import BackendError, Failure
from backends.qmd.child import Surroundings
from backends.qmd.pool import ResidentPool
from backends.qmd.resident import GoneError, Resident
from tests.backends.qmd.making import eventually_async, group, home_of
from tests.fake_qmd import FakeQmd

CALL = {"searches": [{"type": "lex", "query": "x"}], "collections": []}


@pytest.fixture
def fake(tmp_path: Path) -> FakeQmd:
    return FakeQmd.install(tmp_path)


def surroundings(fake: FakeQmd, tmp_path: Path) -> Surroundings:
    home = home_of(tmp_path / "q")
    home.prepare()
    return home.surroundings(fake.environ())


async def started(fake: FakeQmd, tmp_path: Path) -> Resident:
    return await Resident.start([str(fake.path), "mcp"], surroundings(fake, tmp_path), timeout_s=20)


async def ask(resident: Resident, *, timeout_s: float = 10, hang_s: float = 10) -> object:
    return await resident.call("query", CALL, timeout_s=timeout_s, hang_s=hang_s)


def test_it_introduces_itself_and_answers(tmp_path: Path, fake: FakeQmd) -> None:
    """After the handshake the version is known and calls are answered, beside noise on standard output."""

    async def main() -> None:
        resident = await started(fake, tmp_path)
        assert (resident.version, await ask(resident)) == ("2.8.3", {"results": []})
        await resident.end()

    asyncio.run(main())


def test_ending_leaves_nothing(tmp_path: Path, fake: FakeQmd) -> None:
    """`end` may be called twice, and the tree is gone."""

    async def main() -> None:
        resident = await started(fake, tmp_path)
        leader = resident.pid
        await asyncio.gather(resident.end(), resident.end())
        assert leader
        assert await eventually_async(lambda: group(leader) == [])

    asyncio.run(main())


def test_a_hung_call_frees_its_neighbours(tmp_path: Path, fake: FakeQmd) -> None:
    """The call that hangs is a time-out, the ones behind it are told that they may be repeated."""

    async def main() -> None:
        resident = await started(fake, tmp_path)
        fake.behave(mcp="silent")
        hung, neighbour = await asyncio.gather(
            ask(resident, hang_s=0.5), ask(resident, hang_s=20), return_exceptions=True
        )
        assert isinstance(hung, BackendError)
        assert hung.failure is Failure.TIMEOUT
        assert isinstance(neighbour, GoneError)
        assert not resident.alive
        await resident.end()

    asyncio.run(main())


def test_an_impatient_caller_does_not_cost_the_resident(tmp_path: Path, fake: FakeQmd) -> None:
    """Who waits less than a hang takes gets a time-out; the child lives on for the others."""

    async def main() -> None:
        resident = await started(fake, tmp_path)
        assert resident.pid
        os.killpg(resident.pid, signal.SIGSTOP)
        with pytest.raises(BackendError, match="deadline"):
            await ask(resident, timeout_s=0.05)
        os.killpg(resident.pid, signal.SIGCONT)
        assert await ask(resident) == {"results": []}
        await resident.end()

    asyncio.run(main())


def test_death_releases_every_call(tmp_path: Path, fake: FakeQmd) -> None:
    """When the process is killed no caller waits for its deadline."""

    async def main() -> None:
        resident = await started(fake, tmp_path)
        fake.behave(mcp="silent")
        calls = asyncio.gather(*(ask(resident, timeout_s=60, hang_s=60) for _ in range(3)), return_exceptions=True)
        await asyncio.sleep(0)
        assert resident.pid
        os.killpg(resident.pid, signal.SIGKILL)
        assert [type(outcome) for outcome in await calls] == [GoneError] * 3
        await resident.end()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("behaviour", "failure"),
    [("exit", Failure.EXITED), ("abi", Failure.BROKEN_INSTALL), ("locked", Failure.LOCKED), ("hang", Failure.TIMEOUT)],
)
def test_a_start_that_fails_says_why(tmp_path: Path, fake: FakeQmd, behaviour: str, failure: Failure) -> None:
    """What a dying child wrote to standard error names the failure."""

    async def main() -> None:
        fake.behave(mcp=behaviour)
        timeout_s = 1.0 if behaviour == "hang" else 20.0
        with pytest.raises(BackendError) as caught:
            await Resident.start([str(fake.path), "mcp"], surroundings(fake, tmp_path), timeout_s=timeout_s)
        assert caught.value.failure is failure

    asyncio.run(main())


class _Clock:
    """Monotonic seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_only_an_idle_resident_gives_way(tmp_path: Path, fake: FakeQmd) -> None:
    """One used a moment ago keeps its place; one idle for a minute leaves for another agent."""
    clock = _Clock()

    async def main() -> None:
        pool = ResidentPool(limit=1, clock=clock)

        async def start() -> Resident:
            resident = await started(fake, tmp_path)
            resident.used_at = clock.now
            return resident

        first = await pool.lease("a", start, wait_s=20)
        clock.now += 59
        assert first
        assert await pool.lease("b", start, wait_s=20) is None
        clock.now += 2
        second = await pool.lease("b", start, wait_s=20)
        assert second
        assert (first.alive, second.alive, pool.current("a")) == (False, True, None)
        await pool.close()

    asyncio.run(main())


def test_many_agents_at_once_stay_within_the_limit(tmp_path: Path, fake: FakeQmd) -> None:
    """A rush does not start more than the limit."""

    async def main() -> None:
        pool = ResidentPool(limit=2)
        leases = (pool.lease(key, lambda: started(fake, tmp_path), wait_s=30) for key in "abcdef")
        residents = [resident for resident in await asyncio.gather(*leases) if resident]
        assert (len(residents), len(fake.calls("mcp"))) == (2, 2)
        await pool.close()
        assert not any(resident.alive for resident in residents)

    asyncio.run(main())


def test_one_agent_has_one_resident(tmp_path: Path, fake: FakeQmd) -> None:
    """Searches at the same time share one start."""

    async def main() -> None:
        pool = ResidentPool()
        leases = (pool.lease("a", lambda: started(fake, tmp_path), wait_s=30) for _ in range(5))
        assert len({id(resident) for resident in await asyncio.gather(*leases)}) == 1
        await pool.close()

    asyncio.run(main())


def test_failed_starts_are_repeated_with_growing_pauses(tmp_path: Path) -> None:
    """The first retry comes at once, the next ones later and later; success is tried again for ever."""
    clock, tries = _Clock(), []

    async def main() -> None:
        pool = ResidentPool(clock=clock)

        async def start() -> Resident:
            tries.append(clock.now)
            raise BackendError(Failure.EXITED, "no")

        for _ in range(400):
            assert await pool.lease("a", start, wait_s=1) is None
            clock.now += 0.5
        assert pool.why_not("a")
        await pool.close()

    asyncio.run(main())
    pauses = [after - before for before, after in itertools.pairwise(tries)]
    assert pauses == [0.5, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]


def test_the_idle_and_the_large_are_retired(tmp_path: Path, fake: FakeQmd) -> None:
    """A sweep ends what is unused for long or takes too much memory."""
    clock = _Clock()

    async def main() -> None:
        for limits in ({"idle_s": 10.0}, {"max_rss_bytes": 1}):
            pool = ResidentPool(clock=clock, **limits)  # type: ignore[arg-type]
            resident = await pool.lease("a", lambda: started(fake, tmp_path), wait_s=20)
            assert resident
            resident.used_at = clock.now
            clock.now += 11
            await pool.sweep()
            assert not resident.alive
            await pool.close()

    asyncio.run(main())
