"""`qmd-sidecar embed`."""

from __future__ import annotations

import json
from typing import Any

from tests.sidecar.cli.conftest import Run
from tests.sidecar.cli.fake_daemon import FakeDaemon

NEED = {
    "provider": "openai",
    "model": "text-embedding-3-small",
    "hosted": True,
    "rebuild": True,
    "files": 1499,
    "chunks": 12345,
    "tokens": 4180112,
    "cached": 7,
    "kept": 0,
}
SYNC = "/v1/agents/main/sync"


def estimates(**changes: Any) -> tuple[int, dict[str, Any]]:
    return 200, {"queued": False, "reports": [], "estimate": NEED | changes}


def test_an_estimate_is_a_row_that_says_by_whom(run: Run, daemon: FakeDaemon) -> None:
    """And that tokens are a guess, and why it is so much."""
    daemon.routes["POST", SYNC] = estimates()
    result = run("embed", "--estimate")
    assert result.stdout.splitlines() == [
        "AGENT  PROVIDER                                FILES  CHUNKS     TOKENS  CACHED  KEPT",
        "main   openai text-embedding-3-small (hosted)  1,499  12,345  4,180,112       7     0",
    ]
    assert result.stderr.splitlines() == [
        "main: model, provider or chunk sizes are others than those of the index",
        "tokens are an estimate; what a provider counts and charges is its own affair",
    ]
    assert daemon.bodies(SYNC) == [{"estimate": True}]


def test_where_nothing_is_to_be_embedded_nothing_is_remarked(run: Run, daemon: FakeDaemon) -> None:
    """A table of noughts says it."""
    daemon.routes["POST", SYNC] = estimates(rebuild=False, files=0, chunks=0, tokens=0)
    assert run("embed", "--estimate").stderr == ""


def test_estimates_for_programs_are_the_replies(run: Run, daemon: FakeDaemon) -> None:
    """By agent."""
    daemon.routes["POST", SYNC] = estimates()
    assert json.loads(run("embed", "main", "--estimate", "--json").stdout)["agents"]["main"]["estimate"] == NEED


def test_embedding_is_a_sync_that_is_waited_for(run: Run, daemon: FakeDaemon) -> None:
    """And told like one."""
    reports = [{"engine": "builtin", "ran": True, "embedded": 12, "tookMs": 31.2}]
    daemon.routes["POST", SYNC] = (200, {"queued": False, "reports": reports})
    result = run("embed", "main")
    assert result.stdout == "main: builtin 0 changed, 0 removed, 0 unchanged, 12 embedded, 0 files skipped, 31 ms\n"
    assert daemon.bodies(SYNC) == [{"embed": True, "wait": True}]
