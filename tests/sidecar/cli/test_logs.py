"""`qmd-sidecar logs`, over files that turn over and over a journalctl that is a script."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

import pytest

from sidecar.logs.places import Where, remember
from sidecar.logs.reading import LogFiles, Wanted
from tests.sidecar.cli.conftest import Run

NOW = datetime.now(UTC).replace(microsecond=0)
ANY = Wanted()


def line(event: str, *, age_s: float = 0, level: str = "info", **fields: str) -> str:
    """One line of a log, written so many seconds ago."""
    time = (NOW - timedelta(seconds=age_s)).isoformat(timespec="milliseconds")
    return json.dumps({"time": time, "level": level, "event": event, "logger": "sidecar", **fields}) + "\n"


@pytest.fixture
def file(environ: dict[str, str]) -> Path:
    """The log file of a daemon that has run at the usual place."""
    state = Path(environ["HOME"]) / ".local" / "state" / "qmd-sidecar"
    (state / "log").mkdir(parents=True)
    remember(Where("other", str(state / "log" / "sidecar.log")), state)
    return state / "log" / "sidecar.log"


def shown(run: Run, *args: str) -> list[str]:
    """What the verb shows, without the times."""
    result = run("logs", *args)
    assert result.exit_code == 0, result.stderr
    return [each[15:] for each in result.stdout.splitlines()]


def test_the_last_lines_are_shown_over_rotation(run: Run, file: Path) -> None:
    """The oldest first, as they were written, and as many as are wanted."""
    file.with_name("sidecar.log.2").write_text(line("one"), encoding="utf-8")
    file.with_name("sidecar.log.1").write_text(line("two") + line("three"), encoding="utf-8")
    file.write_text(line("four", agent="main"), encoding="utf-8")
    assert shown(run) == ["info one", "info two", "info three", "info four agent=main"]
    assert shown(run, "-n", "2") == ["info three", "info four agent=main"]
    assert shown(run, "-n", "0") == []


def test_lines_are_chosen_by_age_level_and_agent(run: Run, file: Path) -> None:
    """And counted after they were chosen."""
    told = [line("old", age_s=7200), line("a", agent="main"), line("b", level="warning"), line("c", level="error")]
    file.write_text("".join(told), encoding="utf-8")
    assert shown(run, "--since", "1h") == ["info a agent=main", "warning b", "error c"]
    assert shown(run, "--since", (NOW - timedelta(seconds=60)).isoformat(), "-n", "1") == ["error c"]
    assert shown(run, "--level", "warning") == ["warning b", "error c"]
    assert shown(run, "--agent", "main", "-n", "1") == ["info a agent=main"]


def test_json_is_one_object_a_line(run: Run, file: Path) -> None:
    """As it was written."""
    file.write_text(line("synced", agent="main"), encoding="utf-8")
    assert (
        run("logs", "--json").stdout
        == json.dumps(json.loads(line("synced", agent="main")), separators=(",", ":")) + "\n"
    )


def test_what_is_no_line_of_ours_is_shown_and_half_a_line_is_not(run: Run, file: Path) -> None:
    """The daemon may be killed, or the disk be full, in the middle of one."""
    file.write_text(line("whole") + '{"event":"torn\n' + "[1]\n" + '{"time":"half', encoding="utf-8")
    assert [each.strip() for each in run("logs").stdout.splitlines()][1:] == ['{"event":"torn', "[1]"]


def test_text_that_would_obey_a_terminal_is_shown_as_text(run: Run, file: Path) -> None:
    """A log holds what callers call their channels."""
    file.write_text(line("denied by scope", channel="\x1b]0;owned\x07"), encoding="utf-8")
    assert "\x1b" not in run("logs").stdout


def test_a_line_may_be_longer_than_a_block(run: Run, file: Path) -> None:
    """Reading backwards joins what it has cut."""
    told = [line(f"{number} " + "é" * 50_000) for number in range(5)]
    file.write_text("".join(told), encoding="utf-8")
    assert [json.loads(each) for each in run("logs", "--json").stdout.splitlines()] == [
        json.loads(each) for each in told
    ]


@pytest.mark.parametrize("since", ["yesterday", "1x", "99999999999999d", ""])
def test_a_time_that_is_none_is_a_usage_error(run: Run, since: str) -> None:
    """With what would be one."""
    result = run("logs", "--since", since)
    assert result.exit_code == 2
    assert "1h" in result.stderr


def test_a_log_that_was_never_written_says_where_it_was_looked_for(run: Run, environ: dict[str, str]) -> None:
    """And how to name another place."""
    result = run("logs")
    assert result.exit_code == 1
    assert str(Path(environ["HOME"]) / ".local" / "state" / "qmd-sidecar" / "log") in result.stderr
    assert "try: name the daemon's folder with --state-dir" in result.stderr


def test_a_log_that_is_gone_says_which(run: Run, file: Path) -> None:
    """Somebody may have tidied up."""
    result = run("logs", "--json")
    assert (result.exit_code, json.loads(result.stdout)["error"]["code"]) == (1, "no_log")
    assert str(file) in result.stdout


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["fifo", "folder"])
def test_what_stands_in_the_place_of_a_log_is_no_log(run: Run, file: Path, make: Callable[[Path], None]) -> None:
    """To open a FIFO would wait for whoever writes into it."""
    make(file)
    result = run("logs")
    assert result.exit_code == 1
    assert str(file) in result.stderr
    file.with_name("sidecar.log.1").write_text(line("older"), encoding="utf-8")
    assert shown(run) == ["info older"]


def test_a_daemon_in_a_terminal_is_said_to_log_there(run: Run, tmp_path: Path) -> None:
    """Nothing is kept of it."""
    (tmp_path / "log").mkdir()
    remember(Where("terminal"), tmp_path)
    result = run("logs", "--state-dir", str(tmp_path))
    assert result.exit_code == 1
    assert "logs to the terminal" in result.stderr


def test_the_log_of_the_running_daemon_comes_first(
    run: Run, file: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    """Its configuration may name another state folder, which only its pointer tells."""
    file.write_text(line("long ago"), encoding="utf-8")
    (tmp_path / "log").mkdir()
    own = tmp_path / "own.log"
    own.write_text(line("running"), encoding="utf-8")
    remember(Where("other", str(own)), tmp_path)
    pointer = Path(environ["XDG_RUNTIME_DIR"]) / "qmd-sidecar" / "daemon.json"
    pointer.write_text(json.dumps({"socket": "/s.sock", "stateDir": str(tmp_path)}), encoding="utf-8")
    assert shown(run) == ["info running"]
    assert shown(run, "--socket", "/other.sock") == ["info long ago"]


def test_following_goes_over_rotation_truncation_and_a_missing_file(tmp_path: Path) -> None:
    """Each line once, in order, and none that is only half there."""
    file = tmp_path / "x.log"
    file.write_text(line("before"), encoding="utf-8")

    def add(text: str) -> None:
        with file.open("a", encoding="utf-8") as stream:
            stream.write(text)

    def turn_over() -> None:
        for older in (2, 1, 0):
            path = file.with_name(f"x.log.{older}") if older else file
            if path.exists():
                path.rename(file.with_name(f"x.log.{older + 1}"))

    def twice() -> None:
        add(line("c"))
        turn_over()
        add(line("d"))
        turn_over()
        add(line("e"))

    text = line("b")
    steps: Iterator[object] = iter(
        (
            lambda: add(line("a")),
            lambda: add(text[:20]),
            lambda: add(text[20:]),
            twice,
            turn_over,
            lambda: add(line("f")),
            lambda: os.truncate(file, 0),
            lambda: add(line("g")),
            file.unlink,
            lambda: add(line("h")),
        )
    )
    seen: list[str] = []

    def pause() -> None:
        step = next(steps, None)
        if step is None:
            raise EOFError
        assert callable(step)
        step()

    log = LogFiles(file, pause=pause)
    seen += [entry["event"] for entry in log.latest(ANY, 10)]
    with closing(log), pytest.raises(EOFError):
        for entry in log.follow():
            seen.append(entry["event"])
    assert seen == ["before", *"abcdefgh"]


JOURNAL = """\
    #!{python}
    import json, sys, time
    open({asked!r}, "a").write(json.dumps(sys.argv[1:]) + "\\n")
    following = "--follow" in sys.argv
    entries = {entries!r}
    def say(number, message, priority="6"):
        told = dict(MESSAGE=message, PRIORITY=priority, __CURSOR=f"c{{number}}", __REALTIME_TIMESTAMP="17" + "0" * 14)
        print(json.dumps(told), flush=True)
    if following:
        say(9, {later!r})
        time.sleep(60)
    for number, message, priority in reversed(entries):
        say(number, message, priority)
"""


@pytest.fixture
def journal(environ: dict[str, str], tmp_path: Path) -> Path:
    """A journalctl with four entries and one to come; the file that it notes its arguments in."""
    entries = [
        (1, line("ready", agent="main").rstrip(), "6"),
        (2, "Started qmd-sidecar.", "5"),
        (3, list(line("caf\u00e9", level="warning").rstrip().encode()), "4"),
        (4, "Fatal Python error: Segmentation fault", "3"),
    ]
    asked = tmp_path / "asked"
    script = textwrap.dedent(JOURNAL).format(
        python=sys.executable, asked=str(asked), entries=entries, later=line("later").rstrip()
    )
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "journalctl").write_text(script, encoding="utf-8")
    (tmp_path / "bin" / "journalctl").chmod(0o755)
    environ["PATH"] = f"{tmp_path / 'bin'}{os.pathsep}{environ['PATH']}"
    state = Path(environ["HOME"]) / ".local" / "state" / "qmd-sidecar"
    (state / "log").mkdir(parents=True)
    remember(Where("journal", unit="memory", of_user=True), state)
    return asked


def test_under_systemd_the_journal_is_read(run: Run, journal: Path) -> None:
    """Ours as they were written, systemd's and those of a crash with their time and priority."""
    assert shown(run) == [
        "info ready agent=main",
        "info Started qmd-sidecar.",
        "warning café",
        "error Fatal Python error: Segmentation fault",
    ]
    assert shown(run, "--agent", "main", "--since", "1h", "--level", "warning") == []
    _, second = map(json.loads, journal.read_text(encoding="utf-8").splitlines())
    assert {"--user", "--unit", "memory", "--all", "--reverse", "--priority=warning"} <= set(second)
    assert [each for each in second if each.startswith("--since=@")]


def test_a_machine_without_journalctl_says_so(run: Run, journal: Path, environ: dict[str, str]) -> None:
    """The state folder may have been moved to another one."""
    result = run("logs", PATH="/nonexistent")
    assert result.exit_code == 1
    assert "there is no journalctl" in result.stderr


@contextmanager
def following(environ: dict[str, str], *args: str) -> Iterator[subprocess.Popen[str]]:
    """`logs --follow` in a process of its own."""
    command = [sys.executable, "-m", "sidecar", "logs", "--follow", *args]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environ, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as child:
        try:
            yield child
        finally:
            child.kill()


def until_said(stream: IO[str] | None, word: str) -> None:
    """Read lines until one holds the word."""
    assert stream is not None
    for text in stream:
        if word in text:
            return
    raise AssertionError(f"{word} never came")


def test_ctrl_c_ends_following_without_a_word(environ: dict[str, str], file: Path) -> None:
    """With 130, as everywhere; lines that come meanwhile are shown at once."""
    file.write_text(line("before"), encoding="utf-8")
    with following(environ) as child:
        until_said(child.stdout, "before")
        with file.open("a", encoding="utf-8") as stream:
            stream.write(line("after"))
        until_said(child.stdout, "after")
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=30) == ("", "")
        assert child.returncode == 130


def test_the_journal_is_followed_from_where_it_was_read(environ: dict[str, str], journal: Path) -> None:
    """By its cursor, so that nothing is missed in between and nothing shown twice."""
    with following(environ, "-n", "1") as child:
        until_said(child.stdout, "later")
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=30)[1] == ""
        assert child.returncode == 130
    asked = [json.loads(each) for each in journal.read_text(encoding="utf-8").splitlines()]
    assert "--after-cursor=c4" in asked[-1]


def test_a_reader_that_goes_away_ends_following_without_a_word(environ: dict[str, str], file: Path) -> None:
    """`qmd-sidecar logs -f | head -1`."""
    file.write_text(line("before"), encoding="utf-8")
    with following(environ) as child:
        assert child.stdout is not None
        until_said(child.stdout, "before")
        child.stdout.close()
        with file.open("a", encoding="utf-8") as stream:
            stream.write(line("after"))
        assert child.wait(timeout=30) == 1
        assert child.stderr is not None
        assert child.stderr.read() == ""
