"""What the command costs before it does anything, and what it says about itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sidecar.cli.conftest import Run
from tests.sidecar.cli.fake_daemon import FakeDaemon

HEAVY = ("numpy", "apscheduler", "uvicorn", "starlette", "httpx", "pydantic", "apsw", "mcp", "rich", "asyncio", "typer")
PROBE = f"""
import sys
from sidecar.cli import main
try:
    main()
finally:
    print("heavy:", *[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""


def probe(environ: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a child that tells at its end which heavy modules it had imported."""
    return subprocess.run(
        [sys.executable, "-c", PROBE, *args], env=environ, capture_output=True, encoding="utf-8", timeout=60
    )


LIGHT = (
    "",
    "--help",
    "run --help",
    "config --help",
    "status",
    "search boat",
    "get a.md",
    "sync --wait",
    "completion zsh",
    "logs --help",
    "doctor",
    "mcp install",
)


@pytest.mark.parametrize("args", [args.split() for args in LIGHT])
def test_what_is_not_needed_is_not_imported(environ: dict[str, str], daemon: FakeDaemon, args: list[str]) -> None:
    """Help and the client verbs load the standard library and click, so that they answer at once."""
    daemon.routes["GET", "/v1/status"] = (200, {"agents": []})
    hit = {"path": "a.md", "startLine": 1, "endLine": 1, "score": 1, "snippet": "boats"}
    daemon.routes["POST", "/v1/agents/main/memory_search"] = (200, {"results": [hit], "outcome": "hits"})
    daemon.routes["POST", "/v1/agents/main/memory_get"] = (
        200,
        {"path": "a.md", "text": "boats", "from": 1, "lines": 1},
    )
    daemon.routes["GET", "/livez"] = (200, {"alive": True})
    daemon.routes["POST", "/v1/doctor"] = (200, {"running": True, "checks": []})
    daemon.routes["POST", "/v1/agents/main/sync"] = (200, {"reports": []})
    done = probe(environ | {"NO_COLOR": "", "FORCE_COLOR": "1"}, *args)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "heavy:"


def test_help_lists_the_verbs_and_the_exit_codes(run: Run) -> None:
    """The first screen says what can be done and what an exit code means; aliases stay out of it."""
    out = run("--help").stdout
    for word in ("run", "search", "get", "status", "agents", "sync", "stop", "config", "version", "78 configuration"):
        assert word in out
    assert "index" not in out.split("Commands:")[1].split("Exit codes")[0].split()


def test_a_mistyped_verb_is_a_usage_error_with_a_suggestion(run: Run) -> None:
    """The nearest verb is named."""
    result = run("serch", "x")
    assert result.exit_code == 2
    assert "'search'" in result.stderr


def test_a_reader_that_goes_away_is_no_accident(environ: dict[str, str], daemon: FakeDaemon) -> None:
    """`qmd-sidecar search x | head -0` ends without a traceback."""
    hit = {"path": "a.md", "startLine": 1, "endLine": 1, "score": 1, "snippet": "x" * 200_000}
    daemon.routes["POST", "/v1/agents/main/memory_search"] = (200, {"results": [hit] * 5, "outcome": "hits"})
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "sidecar", "search", "x"],
            env=environ,
            stdout=closed,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=60,
        )
    assert "Traceback" not in done.stderr
    assert done.returncode == 1


def test_a_locale_that_cannot_spell_the_memory_is_no_accident(environ: dict[str, str], daemon: FakeDaemon) -> None:
    """Text in any script is printed somehow on a terminal that knows only ASCII."""
    hit = {"path": "a.md", "startLine": 1, "endLine": 1, "score": 1, "snippet": "\u6e2f"}
    daemon.routes["POST", "/v1/agents/main/memory_search"] = (200, {"results": [hit], "outcome": "hits"})
    done = probe(environ | {"PYTHONIOENCODING": "ascii"}, "search", "x")
    assert done.returncode == 0
    assert "\\u6e2f" in done.stdout


@pytest.mark.parametrize("args", ["search", "search x --bogus", "nosuch", "config nosuch", "search x -n 0"])
def test_wrong_usage_is_json_where_json_is_wanted(run: Run, args: str) -> None:
    """A program that reads the answer gets one."""
    done = run(*args.split(), "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.exit_code, error["code"], done.stderr) == (2, "usage", "")
    assert error["hint"].endswith("--help")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("args", ["version", "--help", "doctor --json"])
def test_a_full_disk_behind_standard_output_is_told_in_one_line(environ: dict[str, str], args: str) -> None:
    """`qmd-sidecar config show > file`."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sidecar", *args.split()],
            env=environ,
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=60,
        )
    assert (done.returncode, done.stderr) == (1, "error: No space left on device\n")


@pytest.mark.parametrize("args", ["version", "doctor"])
def test_a_closed_standard_output_is_no_crash(environ: dict[str, str], args: str) -> None:
    """`qmd-sidecar doctor >&-`: the exit code is all that is asked for."""
    script = f'exec "{sys.executable}" -m sidecar {args} >&-'
    done = subprocess.run(["/bin/sh", "-c", script], env=environ, stderr=subprocess.PIPE, encoding="utf-8", timeout=60)
    assert "Traceback" not in done.stderr
