"""Where a daemon's log goes, and that nothing in its way stops the daemon."""

from __future__ import annotations

import json
import logging
import os
import pty
import stat
from pathlib import Path

import pytest

from sidecar.errors import StartupError
from sidecar.logs.places import remembered
from sidecar.logs.setup import logging_to
from tests.running import until
from tests.sidecar.logs.writing import events, lines, settings, tell, written

FULL = Path("/dev/full")


def test_off_a_terminal_every_line_is_json_on_standard_error_and_in_a_private_file(tmp_path: Path) -> None:
    """Under nohup, in a container, behind a pipe: whoever started it reads one, `qmd-sidecar logs` the other."""
    with written(tmp_path):
        tell("engine warm", agent="main")
    file = tmp_path / "state" / "log" / "sidecar.log"
    (line,) = lines(file)
    assert lines(tmp_path / "stderr") == [line]
    assert (line["level"], line["event"], line["agent"]) == ("info", "engine warm", "main")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_under_journald_lines_have_priorities_and_there_is_no_file(tmp_path: Path) -> None:
    """The journal rotates, and filters by what stands in `<>`."""
    (tmp_path / "stderr").touch()
    info = (tmp_path / "stderr").stat()
    with written(tmp_path, environ={"JOURNAL_STREAM": f"{info.st_dev}:{info.st_ino}"}) as logs:
        tell("all is well")
        tell("all is not", level=logging.WARNING)
    told = (tmp_path / "stderr").read_text(encoding="utf-8").splitlines()
    assert [line[:3] for line in told] == ["<6>", "<4>"]
    assert json.loads(told[1][3:])["event"] == "all is not"
    assert logs.where.stream == "journal"
    assert not (tmp_path / "state" / "log" / "sidecar.log").exists()


def test_a_child_of_a_service_that_writes_elsewhere_is_not_under_journald(tmp_path: Path) -> None:
    """`JOURNAL_STREAM` is inherited by everything."""
    with written(tmp_path, environ={"JOURNAL_STREAM": "1:2"}):
        tell("all is well")
    assert events(tmp_path / "stderr") == events(tmp_path / "state" / "log" / "sidecar.log") == ["all is well"]


def test_under_launchd_the_file_that_nobody_rotates_gets_warnings_alone(tmp_path: Path) -> None:
    """The rotated one has everything."""
    with written(tmp_path, environ={"XPC_SERVICE_NAME": "io.qmd-sidecar.daemon"}):
        tell("all is well")
        tell("all is not", level=logging.WARNING)
    assert events(tmp_path / "stderr") == ["all is not"]
    assert events(tmp_path / "state" / "log" / "sidecar.log") == ["all is well", "all is not"]


@pytest.mark.parametrize("no_colour", ["", "1"])
def test_a_terminal_gets_lines_for_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_colour: str) -> None:
    """With colour, unless they want none; and nothing is kept in a file."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", no_colour)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    ours, theirs = pty.openpty()
    with logging_to(settings(tmp_path), stderr=theirs, environ={}):
        tell("engine failed over", level=logging.WARNING, reason="timeout", path="a b\x1b[2J")
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    os.close(theirs)
    assert 'reason=timeout path="a b\\u001b[2J"' in shown
    assert ("\x1b[33mwarning\x1b[0m engine failed over" in shown) is (not no_colour)
    assert not (tmp_path / "state" / "log" / "sidecar.log").exists()


def test_where_the_log_is_outlives_the_daemon(tmp_path: Path) -> None:
    """`qmd-sidecar logs` has to find the last words of one that crashed."""
    with written(tmp_path, log={"file": str(tmp_path / "own.log")}) as logs:
        tell("last words")
    assert remembered(tmp_path / "state") == logs.where
    assert events(tmp_path / "own.log") == ["last words"]


def test_a_log_file_that_cannot_be_opened_is_a_wrong_configuration(tmp_path: Path) -> None:
    """Better said at the start than found out after an incident."""
    with pytest.raises(StartupError) as refused, written(tmp_path, log={"file": str(tmp_path / "no" / "x.log")}):
        pass
    assert (refused.value.code, refused.value.exit_code) == ("log_unusable", 78)


def test_a_daemon_runs_without_a_log_folder(tmp_path: Path) -> None:
    """Nobody asked for this one by name; its loss is said once."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "log").write_text("in the way", encoding="utf-8")
    with written(tmp_path):
        tell("all is well")
    assert events(tmp_path / "stderr") == ["log folder unusable", "all is well"]


@pytest.mark.skipif(not FULL.exists(), reason="this system has no disk that is always full")
def test_a_full_disk_is_said_once_where_there_is_room(tmp_path: Path) -> None:
    """And the other lines arrive there."""
    with written(tmp_path, log={"file": str(FULL)}):
        for number in range(20):
            tell("synced", changed=number)
        until(lambda: "log not written" in events(tmp_path / "stderr"))
    assert sorted(events(tmp_path / "stderr")) == ["log not written", *["synced"] * 20]


def test_a_closed_standard_error_is_left_alone(tmp_path: Path) -> None:
    """Its number belongs to the next file that is opened."""
    with logging_to(settings(tmp_path), stderr=-1, environ={}):
        tell("all is well")
    assert events(tmp_path / "state" / "log" / "sidecar.log") == ["all is well"]


def test_the_level_can_change_while_the_daemon_runs(tmp_path: Path) -> None:
    """By a call, or by a configuration that was read anew."""
    with written(tmp_path) as logs:
        tell("one", level=logging.DEBUG)
        logs.set_level("debug")
        tell("two", level=logging.DEBUG)
        logs.apply(settings(tmp_path, log={"level": "error"}))
        tell("three", level=logging.WARNING)
    assert events(tmp_path / "stderr") == ["two"]


def test_a_level_that_was_asked_for_at_the_start_outlives_a_reload(tmp_path: Path) -> None:
    """Whoever debugs a configuration reads it many times."""
    with written(tmp_path, level="debug") as logs:
        logs.apply(settings(tmp_path, log={"level": "error"}))
        tell("still here", level=logging.DEBUG)
    assert events(tmp_path / "stderr") == ["still here"]


def test_logging_is_as_it_was_when_the_block_ends(tmp_path: Path) -> None:
    """A daemon is one of several in the process of a test."""
    before = logging.getLogger().handlers[:], logging.getLogger().level
    with written(tmp_path):
        assert logging.getLogger().handlers != before[0]
    assert (logging.getLogger().handlers, logging.getLogger().level) == before
