"""Flush and session start of a running daemon, through kills and restarts."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.client import ClientError
from tests.running import Running, running, until

SESSION = {"sessionKey": "agent:main:main", "compactionCount": 2}
FULL = {**SESSION, "contextWindow": 200_000, "totalTokens": 190_000, "workspaceAccess": "rw"}


def config(folder: Path) -> dict[str, Any]:
    """One agent on the built-in engine."""
    (folder / "workspace" / "memory").mkdir(parents=True)
    return {"memory": {"backend": "builtin"}, "agents": {"defaults": {"workspace": str(folder / "workspace")}}}


def flush(daemon: Running, **more: Any) -> dict[str, Any]:
    """Ask whether to flush."""
    reply: dict[str, Any] = daemon.call("POST", "/v1/agents/main/memory_flush", {**FULL, **more})
    return reply


def test_a_flush_is_asked_for_once_through_a_kill_and_a_restart(tmp_path: Path) -> None:
    """What was granted and what was done is on disk before the reply is sent."""
    settings = config(tmp_path)
    with running(tmp_path, settings) as daemon:
        assert flush(daemon)["flush"] is True
        daemon.stop(signal.SIGKILL)
    with running(tmp_path, settings) as daemon:
        assert flush(daemon)["reason"] == "under_way"
        told = daemon.call("POST", "/v1/agents/main/memory_flush/result", {**SESSION, "result": "done"})
        assert told == {"state": "done", "failures": 0}
        daemon.stop(signal.SIGKILL)
    with running(tmp_path, settings) as daemon:
        assert flush(daemon)["reason"] == "already_flushed"
        assert flush(daemon, compactionCount=3)["flush"] is True
        (ledger,) = tmp_path.glob("state/agents/*/flushes.sqlite")
        assert ledger.stat().st_mode & 0o777 == 0o600
        log = daemon.logged()
    assert "already_flushed" in log
    assert "agent:main:main" not in log


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A daemon that syncs when a session begins, and by nothing else."""
    folder = tmp_path_factory.mktemp("socket")
    settings = config(folder)
    settings["agents"]["defaults"]["memorySearch"] = {"sync": {"watch": False, "onSearch": False}}
    with running(folder, settings) as daemon:
        yield daemon


@pytest.mark.parametrize(
    "wrong",
    [
        {"totalTokens": -1},
        {"totalTokens": 1.5},
        {"totalTokens": 10**30},
        {"contextWindow": "200000"},
        {"workspaceAccess": "rwx"},
        {"compactionCount": True},
        {"sandboxed": "no"},
        {"tokens": 3},
    ],
)
def test_a_wrong_question_is_refused(daemon: Running, wrong: dict[str, Any]) -> None:
    """A gateway that misspells a field must not lose memories in silence."""
    with pytest.raises(ClientError) as refused:
        flush(daemon, **wrong)
    assert refused.value.code == "invalid_request"


def test_a_session_that_begins_finds_what_was_written_before(daemon: Running) -> None:
    """Its sync is not waited for."""
    daemon.sync("main")
    (daemon.folder / "workspace" / "memory" / "boat.md").write_text("The boat leaves at nine.\n", encoding="utf-8")
    reply = daemon.call("POST", "/v1/agents/main/session_start", {"sessionKey": "agent:main:main"})
    assert reply["sync"] == "queued"
    until(lambda: daemon.search("main", "when does the boat leave?")["results"], what="the new note")
