"""What one agent's status says: the state in one word, and what an operator needs to act on it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from backends.base import Answer, BackendError, BackendStatus, Failure, Notice, Query, SyncReport, SyncRequest
from backends.corpus import Corpus
from backends.failover import Failover
from sidecar.agents import Agent
from sidecar.config import load


@dataclass
class Engine:
    """An engine that is ready or not, and whose sync and search work or fail."""

    name: str
    ready: bool = True
    failure: Failure | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    async def search(self, query: Query) -> Answer:
        """Fail as told."""
        raise BackendError(self.failure or Failure.EXITED, "as told")

    async def sync(self, request: SyncRequest) -> SyncReport:
        """One changed file, or fail as told."""
        if self.failure:
            raise BackendError(self.failure, "it is locked", hint="unlock it")
        return SyncReport(engine=self.name, ran=True, changed=1)

    def status(self) -> BackendStatus:
        """As told."""
        return BackendStatus(backend=self.name, ready=self.ready, documents=3, detail=self.detail)

    async def close(self) -> None:
        """Nothing to close."""


def statuses(folder: Path, qmd: Engine, builtin: Engine | None = None, *, optional: bool = False) -> list[Any]:
    """The status of an agent with these engines: before its first sync, and after a sync of each of them."""
    (folder / "config.json5").write_text("{}", encoding="utf-8")
    settings = load(folder / "config.json5", environ={"HOME": str(folder)}, state_dir=folder / "state")
    engines = {engine.name: (engine, 0.0) for engine in (qmd, builtin) if engine is not None}

    async def scenario() -> list[Any]:
        agent = Agent(
            settings.agents["main"],
            corpus=Corpus("main", folder, ()),
            policy=settings.policy,
            search=qmd if builtin is None else Failover(qmd, builtin, optional=optional),
            engines=engines,
            wall=lambda: 50.0,
        )
        before = agent.status()
        for name in engines:
            await agent.syncs.run(name, "test")
        after = agent.status()
        await agent.close()
        return [before, after]

    return asyncio.run(scenario())


def test_a_synced_agent_is_ready_and_says_when(tmp_path: Path) -> None:
    """Nothing is claimed before the first sync."""
    before, after = statuses(tmp_path, Engine("qmd"), Engine("builtin"))
    assert "lastSync" not in before
    assert (after["state"], after["backend"]) == ("ready", "qmd")
    assert (after["lastSync"]["at"], after["lastSync"]["changed"]) == (50.0, 1)
    assert after["breaker"] == {"of": "qmd", "state": "closed", "optional": False}


def test_a_failed_sync_degrades_and_brings_its_remedy(tmp_path: Path) -> None:
    """Code, message, next step and moment; the sync that went well stays the last one."""
    failing = Engine("qmd", ready=False, failure=Failure.LOCKED)
    _, after = statuses(tmp_path, failing, Engine("builtin"))
    assert (after["state"], after["backend"]) == ("degraded", "builtin")
    error = {"code": "locked", "message": "it is locked", "action": "unlock it", "at": 50.0}
    assert after["engines"]["qmd"]["lastError"] == error
    assert "lastError" not in after["engines"]["builtin"]
    assert after["lastSync"]["engine"] == "builtin"


@pytest.mark.parametrize(
    ("failure", "optional", "state"),
    [
        (Failure.MISSING, True, "ready"),
        (Failure.MISSING, False, "degraded"),
        (Failure.BROKEN_INSTALL, True, "degraded"),
    ],
)
def test_only_a_qmd_that_was_wanted_is_missed(tmp_path: Path, failure: Failure, optional: bool, state: str) -> None:
    """With `auto`, no qmd at all is fine; a broken one is not."""
    absent = Engine("qmd", ready=False, failure=failure)
    assert statuses(tmp_path, absent, Engine("builtin"), optional=optional)[1]["state"] == state


def test_without_any_engine_that_can_answer_it_is_unavailable(tmp_path: Path) -> None:
    """Degraded still answers; this does not."""
    assert statuses(tmp_path, Engine("qmd", ready=False, failure=Failure.EXITED))[1]["state"] == "unavailable"


def test_an_engines_own_facts_are_passed_on(tmp_path: Path) -> None:
    """Whatever an engine reports is in the reply, beside readiness and documents."""
    facts = {"version": "2.8.3", "resident": {"pid": 7}}
    _, after = statuses(tmp_path, Engine("qmd", detail=facts))
    assert after["engines"]["qmd"] == {"ready": True, "documents": 3, **facts}


def test_polling_is_a_notice_for_as_long_as_it_lasts(tmp_path: Path) -> None:
    """An operator can raise the limit that it names."""
    (tmp_path / "config.json5").write_text("{}", encoding="utf-8")
    settings = load(tmp_path / "config.json5", environ={"HOME": str(tmp_path)}, state_dir=tmp_path / "state")
    engine = Engine("builtin")
    corpus = Corpus("main", tmp_path, ())
    agent = Agent(settings.agents["main"], corpus=corpus, policy=settings.policy, search=engine, engines={})
    agent.watch_notice = Notice("watch_polling", "no watches left", "raise the limit")
    assert "watch_polling" in [notice["code"] for notice in agent.status()["notices"]]
    agent.watch_notice = None
    assert "watch_polling" not in [notice["code"] for notice in agent.status()["notices"]]
