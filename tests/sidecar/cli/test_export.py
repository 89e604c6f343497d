"""`qmd-sidecar export`."""

from __future__ import annotations

import json
from typing import Any

from tests.sidecar.cli.conftest import Run
from tests.sidecar.cli.fake_daemon import FakeDaemon

EXPORT = "/v1/agents/main/export"
REPORT = {
    "written": 1,
    "unchanged": 1996,
    "empty": 2,
    "removed": 1,
    "expired": 0,
    "leftOut": 3,
    "passedOver": 0,
    "badLines": 0,
    "failed": 0,
    "redacted": {"token": 2, "assignment": 1},
    "changes": [
        {"name": "a.jsonl", "action": "write", "turns": 12, "redacted": 3},
        {"name": "b.jsonl", "action": "remove", "turns": 0, "redacted": 0},
    ],
    "diff": "",
    "diffCut": False,
}
COUNTS = "written, 1 removed, 1,996 unchanged, 2 empty, 3 of jobs; 3 secrets redacted (assignment 1, token 2)"


def reply(**changes: Any) -> tuple[int, dict[str, Any]]:
    return 200, {"export": REPORT | changes, "notices": []}


def test_an_export_is_told_in_one_line(run: Run, daemon: FakeDaemon) -> None:
    """What there is nothing of is not told."""
    daemon.routes["POST", EXPORT] = reply()
    assert run("export").stdout == f"main: 1 {COUNTS}\n"


def test_a_dry_run_names_what_would_change(run: Run, daemon: FakeDaemon) -> None:
    """And how many more there are than the daemon lists."""
    daemon.routes["POST", EXPORT] = reply(written=5)
    assert run("export", "main", "--dry-run", "--since", "2026-11-01").stdout.splitlines() == [
        f"main: would be 5 {COUNTS}",
        "  would write a.jsonl (12 turns, 3 redacted)",
        "  would remove b.jsonl",
        "  and 4 more",
    ]
    assert daemon.bodies(EXPORT) == [{"dryRun": True, "diff": False, "since": "2026-11-01"}]


def test_a_diff_is_data_and_its_end_is_talk(run: Run, daemon: FakeDaemon) -> None:
    """Control characters of a conversation do not reach the terminal."""
    daemon.routes["POST", EXPORT] = reply(diff="--- a.md\n+User: \x1b[31mred\n", diffCut=True)
    result = run("export", "--diff")
    assert result.stdout.splitlines()[1] == "--- a.md"
    assert "\x1b" not in result.stdout
    assert result.stderr == "there are more differences than are shown\n"


def test_failed_transcripts_fail_the_verb(run: Run, daemon: FakeDaemon) -> None:
    """With what to do about them."""
    notice = {"code": "io_error", "message": "x could not be exported", "action": "see whether the disk is full"}
    daemon.routes["POST", EXPORT] = (200, {"export": REPORT | {"failed": 2}, "notices": [notice]})
    result = run("export")
    assert result.exit_code == 1
    assert "2 failed" in result.stdout
    assert result.stderr == "main: note: x could not be exported (see whether the disk is full)\n"


def test_an_agent_without_conversations_is_told_so(run: Run, daemon: FakeDaemon) -> None:
    notice = {"code": "sessions_off", "message": "Conversations are no part of it.", "action": "Turn them on."}
    daemon.routes["POST", EXPORT] = (200, {"notices": [notice]})
    result = run("export")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Turn them on." in result.stderr


def test_among_several_agents_one_without_conversations_is_no_failure(run: Run, daemon: FakeDaemon) -> None:
    """An engine that is gone is one, whatever the others did."""
    daemon.routes["GET", "/v1/agents"] = (200, {"agents": [{"id": "main"}, {"id": "ops"}]})
    daemon.routes["POST", EXPORT] = reply()
    for code, exit_code in (("sessions_off", 0), ("worker_lost", 69)):
        notice = {"code": code, "message": "Not here.", "action": ""}
        daemon.routes["POST", "/v1/agents/ops/export"] = (200, {"notices": [notice]})
        assert run("export").exit_code == exit_code


def test_exports_for_programs_are_the_replies(run: Run, daemon: FakeDaemon) -> None:
    """By agent."""
    daemon.routes["POST", EXPORT] = reply()
    assert json.loads(run("export", "--json").stdout)["agents"]["main"]["export"] == REPORT


def test_a_day_that_is_none_is_refused(run: Run, daemon: FakeDaemon) -> None:
    assert run("export", "--since", "yesterday").exit_code == 2
