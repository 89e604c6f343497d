"""When an agent's engines are synced: joined, never doubled, and no change is passed by."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from collections.abc import Awaitable, Callable
from pathlib import Path

from backends.base import Answer, BackendError, BackendStatus, Failure, Query, SyncReport, SyncRequest
from backends.corpus import Corpus
from sidecar.agents import Agent
from sidecar.agents.syncing import Syncing
from sidecar.config import load


class Engine:
    """An engine whose syncs wait to be let go, and are counted."""

    name = "builtin"

    def __init__(self) -> None:
        self.requests: list[SyncRequest] = []
        self.go_on = asyncio.Event()
        self.error: BackendError | None = None

    async def search(self, query: Query) -> Answer:
        """Not asked here."""
        raise AssertionError

    async def sync(self, request: SyncRequest) -> SyncReport:
        """Wait, then fail or report."""
        self.requests.append(request)
        await self.go_on.wait()
        if self.error is not None:
            raise self.error
        return SyncReport(engine=self.name, ran=True)

    def status(self) -> BackendStatus:
        """Ready."""
        return BackendStatus(backend=self.name, ready=True)

    async def close(self) -> None:
        """Nothing to close."""


def run(folder: Path, scenario: Callable[[Agent, Engine], Awaitable[None]]) -> None:
    """An agent with one engine that may be synced again at once, for the time of a scenario."""
    (folder / "workspace").mkdir()
    file = folder / "config.json5"
    defaults = {"workspace": str(folder / "workspace"), "memorySearch": {"sync": {"watchDebounceMs": 0}}}
    file.write_text(json.dumps({"agents": {"defaults": defaults}}), encoding="utf-8")
    settings = load(file, environ={"HOME": str(folder)}, state_dir=folder / "state")

    async def main() -> None:
        engine = Engine()
        agent = Agent(
            settings.agents["main"],
            corpus=Corpus("main", folder / "workspace", ()),
            policy=settings.policy,
            search=engine,
            engines={"builtin": (engine, 0.0)},
        )
        try:
            async with asyncio.timeout(20):
                await scenario(agent, engine)
        finally:
            await agent.close()

    asyncio.run(main())


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until a condition holds."""
    while not condition():
        await asyncio.sleep(0.005)


def test_a_change_during_a_sync_is_synced_afterwards(tmp_path: Path) -> None:
    """The sync under way may have passed the file already."""

    async def scenario(agent: Agent, engine: Engine) -> None:
        first = asyncio.create_task(agent.syncs.sync(SyncRequest(reason="test")))
        await until(lambda: len(engine.requests) == 1)
        agent.changed(frozenset({"memory/a.md"}))
        assert agent.syncs.pending("builtin") is not None
        engine.go_on.set()
        await first
        await until(lambda: agent.syncs.pending("builtin") is None)
        assert len(engine.requests) == 2

    run(tmp_path, scenario)


def test_a_file_that_changes_again_during_a_sync_stays_pending_after_it(tmp_path: Path) -> None:
    """Whatever the clock says: what the sync saw is the first change, perhaps."""

    async def scenario(agent: Agent, engine: Engine) -> None:
        agent.changed(frozenset({"memory/a.md"}))
        await until(lambda: len(engine.requests) == 1)
        agent.changed(frozenset({"memory/a.md"}))
        for _ in range(9):
            # What is planned for this change comes now, and finds a sync under way.
            await asyncio.sleep(0)
        pending = agent.syncs.pending("builtin")
        assert pending is not None
        assert pending.files == 1
        engine.go_on.set()
        await until(lambda: len(engine.requests) == 2 or agent.syncs.pending("builtin") is None)
        assert len(engine.requests) == 2
        await until(lambda: agent.syncs.pending("builtin") is None)
        assert len(engine.requests) == 2

    run(tmp_path, scenario)


def test_what_a_failed_sync_was_to_see_stays_pending(tmp_path: Path) -> None:
    """It saw nothing."""

    async def scenario(agent: Agent, engine: Engine) -> None:
        agent.changed(frozenset({"memory/a.md"}))
        await until(lambda: len(engine.requests) == 1)
        agent.changed(frozenset({"memory/b.md"}))
        engine.error = BackendError(Failure.LOCKED, "busy", hint="wait")
        engine.go_on.set()
        await until(lambda: bool(agent.notices_about("builtin")))
        pending = agent.syncs.pending("builtin")
        assert pending is not None
        assert pending.files == 2

    run(tmp_path, scenario)


def test_until_the_first_sync_has_ended_something_is_pending(tmp_path: Path) -> None:
    """What was written while no daemon ran had no event."""

    async def scenario(agent: Agent, engine: Engine) -> None:
        assert agent.syncs.pending("builtin") is None
        assert agent.syncs.begin(qmd=False) == {"builtin"}
        assert agent.syncs.pending("builtin") is not None
        first = asyncio.create_task(agent.syncs.run("builtin", "boot"))
        await until(lambda: len(engine.requests) == 1)
        assert agent.syncs.pending("builtin") is not None
        engine.go_on.set()
        await first
        assert agent.syncs.pending("builtin") is None

    run(tmp_path, scenario)


def test_a_sync_that_is_asked_for_begins_after_the_asking(tmp_path: Path) -> None:
    """Whoever wrote a note and asked for a sync finds the note afterwards; ten who ask at once share one."""

    async def scenario(agent: Agent, engine: Engine) -> None:
        first = asyncio.create_task(agent.syncs.sync(SyncRequest(reason="test")))
        await until(lambda: len(engine.requests) == 1)
        others = [asyncio.create_task(agent.syncs.sync(SyncRequest(reason="test"))) for _ in range(10)]
        await asyncio.sleep(0)
        engine.go_on.set()
        await asyncio.gather(first, *others)
        assert len(engine.requests) == 2

    run(tmp_path, scenario)


def test_the_interval_joins_what_is_under_way(tmp_path: Path) -> None:
    """A tick that comes during a long sync adds nothing."""

    async def scenario(agent: Agent, engine: Engine) -> None:
        first = asyncio.create_task(agent.syncs.sync(SyncRequest(reason="test")))
        await until(lambda: len(engine.requests) == 1)
        tick = asyncio.create_task(agent.syncs.run("builtin", "interval"))
        await asyncio.sleep(0)
        engine.go_on.set()
        await asyncio.gather(first, tick)
        assert len(engine.requests) == 1

    run(tmp_path, scenario)


def test_forced_syncs_wait_for_the_one_under_way_and_are_one(tmp_path: Path) -> None:
    """A rebuild is not the same as what is under way, but the same as another rebuild."""

    async def scenario(agent: Agent, engine: Engine) -> None:
        first = asyncio.create_task(agent.syncs.sync(SyncRequest(reason="test")))
        await until(lambda: len(engine.requests) == 1)
        forced = [asyncio.create_task(agent.syncs.sync(SyncRequest(reason="test", force=True))) for _ in range(5)]
        await asyncio.sleep(0)
        engine.go_on.set()
        await asyncio.gather(first, *forced)
        assert [request.force for request in engine.requests] == [False, True]

    run(tmp_path, scenario)


def test_a_failed_sync_is_told_to_whoever_searches_and_forgotten_when_mended(tmp_path: Path) -> None:
    """An empty list from an index that could not be made is not "nothing relevant"."""

    async def scenario(agent: Agent, engine: Engine) -> None:
        engine.go_on.set()
        engine.error = BackendError(Failure.EXITED, "the disk is full", hint="make room")
        outcome = (await agent.syncs.sync(SyncRequest(reason="test")))["builtin"]
        assert isinstance(outcome, BackendError)
        assert [notice.code for notice in agent.notices_about("builtin")] == ["sync_failed"]
        assert agent.status()["state"] == "degraded"
        engine.error = None
        await agent.syncs.sync(SyncRequest(reason="test"))
        assert agent.notices_about("builtin") == ()

    run(tmp_path, scenario)


def test_a_clock_that_is_set_back_makes_no_pause_longer() -> None:
    """What changes afterwards is indexed in time, not when the clock has come to the last sync again."""

    async def scenario() -> None:
        engine, now = Engine(), 2_000_000_000.0
        engine.go_on.set()
        syncing = Syncing(
            "main",
            {"builtin": (engine, 0.01)},
            overall=engine.status,
            export=None,
            on_synced=lambda: None,
            wall=lambda: now,
        )
        await syncing.sync(SyncRequest(reason="request"))
        now -= 86_400
        syncing.refresh("change")
        async with asyncio.timeout(20):
            await until(lambda: len(engine.requests) == 2)
        await syncing.stop(grace_s=1)

    asyncio.run(scenario())


def test_a_sync_that_keeps_failing_keeps_nothing_of_its_failures(tmp_path: Path) -> None:
    """What is told of the last one is all that is left: an error holds its frames, and theirs the error before."""

    async def scenario(agent: Agent, engine: Engine) -> None:
        engine.go_on.set()
        raised: list[weakref.ref[BackendError]] = []
        for _ in range(5):
            engine.error = BackendError(Failure.LOCKED, "it is locked", hint="unlock it")
            raised.append(weakref.ref(engine.error))
            await agent.syncs.run("builtin", "test")
            engine.error = None
        assert [notice.code for notice in agent.notices_about("builtin")] == ["sync_failed"]
        # Of the last one, the loop may still hold the task.
        await asyncio.sleep(0)
        gc.collect()
        assert [error() for error in raised[:-1]] == [None] * 4

    run(tmp_path, scenario)
