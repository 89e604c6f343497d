"""`qmd-sidecar status`, `agents`, `sync`, `version`."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from sidecar import __version__
from tests.sidecar.cli.conftest import Run
from tests.sidecar.cli.fake_daemon import FakeDaemon

NOTICE = {"code": "embedding_unavailable", "message": "keywords only", "action": "pip install 'qmd-sidecar[static]'"}


def agent(**changes: Any) -> dict[str, Any]:
    """The status of one agent."""
    usual = {
        "id": "main",
        "workspace": "/w/main",
        "state": "ready",
        "backend": "qmd",
        "documents": 12,
        "lastSync": {
            "at": time.time() - 190,
            "engine": "qmd",
            "ran": True,
            "changed": 2,
            "removed": 1,
            "tookMs": 341.7,
        },
        "nextUpdateAt": time.time() + 130,
        "engines": {"qmd": {"version": "2.8.3", "ready": True, "sizeBytes": 2048, "held": [], "lastError": "locked"}},
        "roots": [
            {"name": "memory-dir", "kind": "daily", "path": "/w/main/memory", "pattern": "**/*.md", "shown": "m/"}
        ],
        "notices": [],
    }
    return usual | changes


def whole(*agents: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The status of the daemon."""
    usual = {
        "state": "ready",
        "version": "0.1.0",
        "pid": 4242,
        "uptimeSeconds": 7300.2,
        "socket": "/run/x.sock",
        "agents": list(agents),
        "worker": {"state": "running", "pid": 4243, "rssBytes": 61 * 1024 * 1024},
        "notices": [],
    }
    return usual | changes


def test_status_is_one_screen(run: Run, daemon: FakeDaemon) -> None:
    """The daemon, its worker and one line per agent, with times in the words of a person."""
    daemon.routes["GET", "/v1/status"] = (
        200,
        whole(agent(), agent(id="ops", pending={"files": 3, "oldestSeconds": 9})),
    )
    result = run("status")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "qmd-sidecar 0.1.0  ready  pid 4242  up 2h",
        "socket  /run/x.sock",
        "worker  running (pid 4243, 61 MB)",
        "",
        "AGENT  STATE  ENGINE  DOCS  PENDING  LAST UPDATE  NEXT",
        "main   ready  qmd     12    0        3m ago       in 2m",
        "ops    ready  qmd     12    3        3m ago       in 2m",
    ]


def test_every_problem_comes_with_its_remedy(run: Run, daemon: FakeDaemon) -> None:
    """A fallback and a notice stand below the table, each with why and what to do."""
    fallen = agent(
        state="degraded",
        backend="builtin",
        fallback={"from": "qmd", "reason": "missing", "since": time.time() - 60},
        notices=[NOTICE],
    )
    daemon.routes["GET", "/v1/status"] = (200, whole(fallen))
    out = run("status").stdout
    assert "main: builtin answers instead of qmd: qmd was not found on PATH (since 1m ago)" in out
    assert "main: keywords only\n  try: pip install 'qmd-sidecar[static]'" in out


def test_status_of_one_agent_lists_its_folders(run: Run, daemon: FakeDaemon) -> None:
    """With a name, the roots, the engines and the last sync are shown."""
    daemon.routes["GET", "/v1/agents/main/status"] = (200, agent())
    out = run("status", "main").stdout
    assert "workspace  /w/main" in out
    assert "memory-dir  daily  /w/main/memory/**/*.md" in out
    assert "qmd: version 2.8.3, ready yes, sizeBytes 2 KB, lastError qmd's index is locked by another process" in out
    assert "3m ago, qmd: 2 changed, 1 removed, 342 ms" in out


def test_a_status_with_hardly_any_fields_is_still_shown(run: Run, daemon: FakeDaemon) -> None:
    """An agent that was never synced has dashes, not an exception."""
    daemon.routes["GET", "/v1/status"] = (200, {"state": "starting", "agents": [{"id": "main", "state": "indexing"}]})
    result = run("status")
    assert result.exit_code == 0
    assert "main   indexing  -       -     0        -            -" in result.stdout


def test_status_json_is_the_reply_itself(run: Run, daemon: FakeDaemon) -> None:
    """Programs get the daemon's own status."""
    daemon.routes["GET", "/v1/status"] = (200, whole())
    assert json.loads(run("status", "--json").stdout) == whole()


def test_agents_lists_id_state_engine_and_workspace(run: Run, daemon: FakeDaemon) -> None:
    """One line per agent."""
    assert run("agents").stdout.splitlines()[1].split() == ["main", "ready", "qmd", "/w"]


@pytest.mark.parametrize("name", ["sync", "index"])
def test_sync_asks_for_every_agent(run: Run, daemon: FakeDaemon, name: str) -> None:
    """Without names all agents are synced; `index` is the same verb."""
    daemon.routes["POST", "/v1/agents/main/sync"] = (200, {"queued": True, "reports": []})
    result = run(name)
    assert (result.exit_code, result.stderr) == (0, "main: queued\n")
    assert daemon.bodies("/v1/agents/main/sync") == [{"force": False, "embed": True, "wait": False}]


def test_a_sync_that_was_waited_for_tells_what_it_did(run: Run, daemon: FakeDaemon) -> None:
    """Each engine's counts are data; skipped files are talk."""
    reports = [
        {
            "engine": "builtin",
            "ran": True,
            "changed": 2,
            "unchanged": 5,
            "skipped": {"a.md": "not UTF-8"},
            "tookMs": 31.2,
        },
        {"engine": "qmd", "ran": False, "detail": "another writer has the turn"},
    ]
    daemon.routes["POST", "/v1/agents/ops/sync"] = (200, {"queued": False, "reports": reports})
    result = run("sync", "ops", "--wait", "--force")
    assert result.stdout.splitlines() == [
        "ops: builtin 2 changed, 0 removed, 5 unchanged, 0 embedded, 1 file skipped, 31 ms",
        "ops: qmd had nothing to do (another writer has the turn)",
    ]
    assert result.stderr == "  skipped a.md: not UTF-8\n"


def test_a_sync_that_no_engine_could_do_is_a_failure(run: Run, daemon: FakeDaemon) -> None:
    """The daemon answers 200 with a notice; the exit code is that of an engine that is not there."""
    reply = {
        "queued": False,
        "reports": [],
        "notices": [{"code": "locked", "message": "index locked", "action": "wait"}],
    }
    daemon.routes["POST", "/v1/agents/main/sync"] = (200, reply)
    result = run("sync", "--wait")
    assert (result.exit_code, result.stderr) == (69, "main: note: index locked (wait)\n")


def test_version_names_the_running_daemon(run: Run, daemon: FakeDaemon) -> None:
    """A daemon of another version than the command is the first thing to see after an upgrade."""
    daemon.routes["GET", "/v1/info"] = (200, {"version": "0.0.9", "pid": 77})
    assert "daemon      0.0.9 (pid 77)" in run("version").stdout


def test_version_needs_no_daemon(run: Run) -> None:
    """Asked for when things are broken, so it never fails."""
    result = run("version", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["version"] == __version__
    assert json.loads(result.stdout)["daemon"] is None
