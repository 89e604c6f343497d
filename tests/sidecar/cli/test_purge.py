"""`qmd-sidecar purge`."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner

from sidecar.cli import command
from tests.sidecar.cli.conftest import Run
from tests.sidecar.cli.fake_daemon import FakeDaemon

PURGE = "/v1/agents/main/purge"
REPORT: dict[str, Any] = {
    "sessions": 0,
    "turns": 2,
    "chunks": 3,
    "vectors": 3,
    "cached": 1,
    "lookedFor": 1,
    "filesScanned": 12,
    "bytes": 4096,
    "remaining": [],
    "notes": [],
    "transcripts": [],
    "unread": [],
    "failures": [],
    "done": True,
}
COUNTS = "0 sessions, 2 turns, 3 chunks, 3 vectors, 1 cached"


def reply(**changes: Any) -> tuple[int, dict[str, Any]]:
    return 200, {"purge": REPORT | changes, "notices": []}


def test_a_purge_is_told_in_one_line(run: Run, daemon: FakeDaemon) -> None:
    daemon.routes["POST", PURGE] = reply()
    result = run("purge", "--pattern", "x+")
    assert result.stdout == f"main: {COUNTS} forgotten; 12 files (4,096 bytes) scanned, nothing remains\n"
    assert result.exit_code == 0
    assert daemon.bodies(PURGE) == [{"pattern": "x+", "dryRun": False}]


def test_a_pattern_comes_from_standard_input_as_it_stands(environ: dict[str, str], daemon: FakeDaemon) -> None:
    """But for the end of its line."""
    daemon.routes["POST", PURGE] = reply()
    CliRunner().invoke(command, ["purge", "--pattern", "-"], env=environ, input=" a b \n")
    assert daemon.bodies(PURGE)[0]["pattern"] == " a b "


def test_a_purge_that_had_nothing_to_look_for_claims_no_proof(run: Run, daemon: FakeDaemon) -> None:
    """A session of short turns, under a short name."""
    daemon.routes["POST", PURGE] = reply(lookedFor=0)
    assert "nothing in it is telling enough to look for" in run("purge", "--session", "s1").stdout


def test_what_remains_is_named_and_a_failure(run: Run, daemon: FakeDaemon) -> None:
    """The places only; and no transcript that stays as it is fails a purge."""
    daemon.routes["POST", PURGE] = reply(
        remaining=[{"file": "/s/main.sqlite", "count": 2}],
        notes=[{"file": "/w/MEMORY.md", "lines": 1}],
        transcripts=[{"file": "/t/s1.jsonl", "turns": 1}],
        unread=["/s/x"],
        failures=[{"code": "missing", "message": "qmd is not there", "action": "install it"}],
        done=False,
    )
    result = run("purge", "--session", "s1")
    assert result.exit_code == 1
    assert "not all is gone" in result.stdout
    for told in ("2 times in /s/main.sqlite", "1 line of your note /w/MEMORY.md", "/t/s1.jsonl", "/s/x", "not there"):
        assert told in result.stderr


def test_a_trial_ends_well(run: Run, daemon: FakeDaemon) -> None:
    daemon.routes["POST", PURGE] = reply(done=False)
    result = run("purge", "--pattern", "x", "--dry-run")
    assert (result.exit_code, result.stdout) == (0, f"main: {COUNTS} would be forgotten\n")


def test_a_purge_is_of_a_session_or_of_a_pattern(run: Run, daemon: FakeDaemon) -> None:
    for options in ((), ("--session", "s1", "--pattern", "x")):
        assert run("purge", *options).exit_code == 2
    assert daemon.bodies(PURGE) == []
