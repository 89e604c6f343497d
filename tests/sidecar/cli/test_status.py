"""`qmd-sidecar status`, `sync`, `version`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import pytest

from sidecar import __version__
from sidecar.cli.columns import cell_width
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
        "breaker": {"of": "qmd", "state": "closed", "optional": False},
        "documents": 1200,
        "lastSync": {
            "at": time.time() - 190,
            "engine": "qmd",
            "ran": True,
            "changed": 2,
            "removed": 1,
            "tookMs": 341.7,
        },
        "nextUpdateAt": time.time() + 130,
        "engines": {"qmd": {"version": "2.8.3", "ready": True, "resident": {"pid": 77, "rssBytes": 74 * 2**20}}},
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
        "rssBytes": 93 * 1024 * 1024,
        "uptimeSeconds": 7300.2,
        "socket": "/run/x.sock",
        "stateDir": "/state",
        "config": None,
        "agents": list(agents),
        "worker": {"state": "running", "pid": 4243, "rssBytes": 61 * 1024 * 1024},
        "notices": [],
    }
    return usual | changes


def test_status_is_one_screen(run: Run, daemon: FakeDaemon) -> None:
    """The daemon, one row per agent, its places; with times in the words of a person."""
    daemon.routes["GET", "/v1/status"] = (
        200,
        whole(agent(), agent(id="ops", state="indexing", pending={"files": 3, "oldestSeconds": 9})),
    )
    result = run("status")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "qmd-sidecar 0.1.0  ready  pid 4242  up 2h  93 MB",
        "",
        "AGENT  STATE       BACKEND     DOCS  PENDING  UPDATED  NEXT     RAM",
        "main   ● ready     qmd 2.8.3  1,200        0  3m ago   in 2m  74 MB",
        "ops    ◐ indexing  qmd 2.8.3  1,200        3  3m ago   in 2m  74 MB",
        "",
        "worker  running, pid 4243, 61 MB",
        "socket  /run/x.sock",
        "state   /state",
    ]


@pytest.mark.parametrize("named", [(), ("main",)])
def test_an_index_that_is_made_says_how_far_it_is(run: Run, daemon: FakeDaemon, named: tuple[str, ...]) -> None:
    """Ten thousand vectors take a while: whoever looks sees them grow."""
    engines = {"builtin": {"ready": True, "progress": {"phase": "vectors", "done": 1280, "total": 10_000}}}
    status = agent(state="indexing", backend="builtin", engines=engines)
    daemon.routes["GET", "/v1/status"] = (200, whole(status))
    daemon.routes["GET", "/v1/agents/main/status"] = (200, status)
    assert "◐ main: builtin vectors 1,280 of 10,000\n" in run("status", *named).stdout


def test_an_index_that_waits_for_its_turn_says_so(run: Run, daemon: FakeDaemon) -> None:
    """There is nothing to count."""
    engines = {"builtin": {"ready": True, "progress": {"phase": "waiting"}}}
    daemon.routes["GET", "/v1/status"] = (200, whole(agent(engines=engines)))
    assert "◐ main: builtin waits for another index\n" in run("status").stdout


def test_a_deep_status_tells_both_providers(run: Run, daemon: FakeDaemon) -> None:
    """The first choice, then the second."""
    second = {"provider": "static", "model": "small", "dims": 256, "tookMs": 3.2}
    error = {"code": "embedding_quota", "message": "The quota is used up.", "action": "Pay."}
    tried = {"provider": "openai", "error": error, "second": second}
    daemon.routes["GET", "/v1/agents/main/status?deep=true"] = (200, agent(embedding=tried))
    result = run("status", "main", "--deep")
    assert result.exit_code == 1
    assert (
        "▲ main: embedding by openai: The quota is used up. (embedding_quota; try: Pay.)\n"
        "● main: embedding by static small, 256 dimensions, 3 ms\n"
    ) in result.stdout


def test_the_row_of_a_fallen_agent_says_why(run: Run, daemon: FakeDaemon) -> None:
    """The engine that answers, with the reason why it is not the first choice."""
    daemon.routes["GET", "/v1/status"] = (200, whole(fallen_agent()))
    assert "▲ degraded  builtin ← bad output" in run("status").stdout


def test_every_problem_comes_with_its_remedy(run: Run, daemon: FakeDaemon) -> None:
    """A fallback and a notice stand below the table, each with why, for how long, and what to do."""
    daemon.routes["GET", "/v1/status"] = (200, whole(fallen_agent(notices=[NOTICE])))
    out = run("status").stdout
    assert "▲ main: builtin answers instead of qmd: qmd answered with something unreadable (for 1m, next probe" in out
    assert "  try: npm install -g @tobilu/qmd@latest\n" in out
    assert "▲ main: keywords only\n  try: pip install 'qmd-sidecar[static]'" in out


def fallen_agent(**changes: Any) -> dict[str, Any]:
    """An agent whose qmd talks nonsense."""
    fallback = {"from": "qmd", "reason": "bad_output", "since": time.time() - 60}
    breaker = {"of": "qmd", "state": "open", "optional": False, "nextProbeAt": time.time() + 100}
    return agent(state="degraded", backend="builtin", fallback=fallback, breaker=breaker, **changes)


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_the_table_fits_the_screen(run: Run, daemon: FakeDaemon, columns: int) -> None:
    """On a narrow screen columns give way, the agent and its state stay."""
    daemon.routes["GET", "/v1/status"] = (200, whole(agent(id="research-assistant-berlin"), agent(id="漢字" * 12)))
    rows = run("status", COLUMNS=str(columns)).stdout.splitlines()[2:5]
    assert all(cell_width(row) <= columns for row in rows)
    assert rows[1].startswith("researc")
    assert "ready" in rows[1]


def test_without_a_width_nothing_is_cut(run: Run, daemon: FakeDaemon) -> None:
    """Into a pipe goes the whole id."""
    daemon.routes["GET", "/v1/status"] = (200, whole(agent(id="a" * 200)))
    assert "a" * 200 in run("status", COLUMNS="").stdout


def test_an_ascii_stream_gets_ascii_signs(environ: dict[str, str], daemon: FakeDaemon) -> None:
    """No sign is turned into an escape or a question mark."""
    daemon.routes["GET", "/v1/status"] = (200, whole(fallen_agent()))
    command = [sys.executable, "-m", "sidecar", "status"]
    done = subprocess.run(command, env=environ | {"PYTHONIOENCODING": "ascii"}, capture_output=True, timeout=60)
    assert b"! degraded  builtin <- bad output" in done.stdout


def test_states_have_colours_on_a_terminal(run: Run, daemon: FakeDaemon) -> None:
    """Words always, colour on top."""
    daemon.routes["GET", "/v1/status"] = (200, whole(agent(), agent(id="x", state="unavailable")))
    out = run("status", NO_COLOR="", FORCE_COLOR="1").stdout
    assert "\x1b[32m● ready" in out
    assert "\x1b[31m✖ unavailable\x1b[0m" in out


def test_a_stopped_worker_is_no_trouble(run: Run, daemon: FakeDaemon) -> None:
    """It is retired when there is nothing to do, and the screen says so."""
    daemon.routes["GET", "/v1/status"] = (200, whole(agent(), worker={"state": "stopped", "calls": 0}))
    assert "worker  stopped, starts when there is work" in run("status").stdout


def test_status_of_one_agent_shows_everything(run: Run, daemon: FakeDaemon) -> None:
    """With a name, all that its engines report: one labelled line each."""
    now = time.time()
    qmd = {
        "version": "2.8.3",
        "binary": "/opt/qmd",
        "mode": "query",
        "ready": True,
        "documents": 1200,
        "resident": {
            "state": "idle",
            "pid": 77,
            "rssBytes": 74 * 2**20,
            "startedAt": now - 4000,
            "calls": 17,
        },
        "processes": [77, 78],
        "vectorsPending": 12,
        "models": {"embed": True, "rerank": False},
        "lastUpdate": {"at": now - 190, "result": "ok", "lastGoodAt": now - 190},
        "lastEmbed": {
            "at": now - 620,
            "result": "model_missing",
            "lastGoodAt": now - 90_000,
            "nextAttemptAt": now + 250,
        },
        "held": [{"name": "vault", "reason": "missing", "since": now - 60, "filesLeft": 0}],
        "ignored": {"count": 14, "sample": ["node_modules/a.md"], "atLeast": True},
    }
    builtin = {"chunks": 4821, "vectors": 4821, "dims": 256, "vectorStore": "vec0", "skipped": {"a.md": "not UTF-8"}}
    breaker = {"of": "qmd", "state": "open", "reason": "locked", "since": now - 61, "nextProbeAt": now + 61}
    status = agent(engines={"qmd": qmd, "builtin": builtin}, breaker=breaker, pending={"files": 2, "oldestSeconds": 9})
    daemon.routes["GET", "/v1/agents/main/status"] = (200, status)
    lines = [" ".join(line.split()) for line in run("status", "main").stdout.splitlines()]
    for expected in (
        "workspace /w/main",
        "updated 3m ago by qmd: 2 changed, 1 removed, 342 ms",
        "pending 2 files, the oldest for 9s",
        "breaker open for 1m: qmd's index is locked by another process; next probe in 1m",
        "binary /opt/qmd",
        "index 1,200 documents",
        "vectors 12 pending",
        "models embed present, rerank missing",
        "resident idle, pid 77, 74 MB, started 1h ago, 17 calls",
        "processes 77, 78",
        "update 3m ago: ok",
        "embed 10m ago: model missing; last good 1d ago; next attempt in 4m",
        "held vault (missing)",
        "ignored at least 14 files by rule, such as node_modules/a.md",
        "vectors 4,821 of 256 dimensions in vec0",
        "skipped a.md: not UTF-8",
        "memory-dir daily /w/main/memory/**/*.md",
    ):
        assert expected in lines


def test_a_resident_that_does_not_start_says_why(run: Run, daemon: FakeDaemon) -> None:
    """Its state with the class of the failure in words; a version that nobody tried is marked."""
    qmd = {"version": "9.0", "tried": False, "resident": {"state": "pausing", "pid": None, "reason": "exited"}}
    daemon.routes["GET", "/v1/agents/main/status"] = (200, agent(engines={"qmd": qmd}))
    out = run("status", "main").stdout
    assert "pausing: qmd ended before it answered" in out
    assert "9.0 (newer than all that were tried)" in out


def test_what_an_engine_does_not_report_is_not_shown(run: Run, daemon: FakeDaemon) -> None:
    """No label stands without a fact."""
    daemon.routes["GET", "/v1/agents/main/status"] = (200, {"id": "main", "state": "ready", "engines": {"qmd": {}}})
    out = run("status", "main").stdout
    assert "qmd" in out
    assert not any(label in out for label in ("resident", "embed", "held", "breaker", "version", "None"))


CHOICE = {
    "requested": "auto",
    "provider": "openai",
    "model": "text-embedding-3-small",
    "chosenBy": "auto",
    "reason": "OPENAI_API_KEY is set",
    "fallback": "mistral",
}


@pytest.mark.parametrize(
    ("stored", "lines"),
    [
        ({}, ["openai text-embedding-3-small", "chosen by auto: OPENAI_API_KEY is set", "fallback: mistral"]),
        (
            {"provider": "static", "model": "l2_supercat_256"},
            [
                "static l2_supercat_256",
                "wanted: openai text-embedding-3-small",
                "chosen by auto: OPENAI_API_KEY is set",
                "fallback: mistral",
            ],
        ),
    ],
)
def test_the_embedding_provider_is_told_with_how_it_was_chosen(
    run: Run, daemon: FakeDaemon, stored: dict[str, str], lines: list[str]
) -> None:
    """And whose vectors the index has, while that is another."""
    engines = {"builtin": {"ready": True, **stored, "embedding": CHOICE}}
    daemon.routes["GET", "/v1/agents/main/status"] = (200, agent(engines=engines))
    out = [line.strip() for line in run("status", "main").stdout.splitlines()]
    start = out.index(f"embedding  {lines[0]}")
    assert out[start + 1 : start + 1 + len(lines[1:])] == lines[1:]


def test_a_status_with_hardly_any_fields_is_still_shown(run: Run, daemon: FakeDaemon) -> None:
    """An agent that was never synced has dashes, not an exception."""
    daemon.routes["GET", "/v1/status"] = (200, {"state": "starting", "agents": [{"id": "main", "state": "indexing"}]})
    result = run("status")
    assert result.exit_code == 0
    assert "main   ◐ indexing  -           -        0  -        -       -" in result.stdout


def test_what_an_agent_is_called_cannot_take_over_the_terminal(run: Run, daemon: FakeDaemon) -> None:
    """Ids, messages and paths are data."""
    daemon.routes["GET", "/v1/status"] = (200, whole(agent(id="a\x1b[2J", notices=[{"message": "b\x1b[2J"}])))
    assert "\x1b" not in run("status").stdout


def test_status_json_is_the_reply_itself(run: Run, daemon: FakeDaemon) -> None:
    """Programs get the daemon's own status."""
    daemon.routes["GET", "/v1/status"] = (200, whole())
    assert json.loads(run("status", "--json").stdout) == whole()


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
