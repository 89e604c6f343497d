"""`qmd-sidecar get`."""

from __future__ import annotations

import pytest

from sidecar.cli.exits import VerbError
from sidecar.cli.get import parse_place
from tests.sidecar.cli.conftest import Run
from tests.sidecar.cli.fake_daemon import FakeDaemon, error

ROUTE = ("POST", "/v1/agents/main/memory_get")


@pytest.mark.parametrize(
    ("place", "meant"),
    [
        ("MEMORY.md", ("MEMORY.md", None, None)),
        ("MEMORY.md:7", ("MEMORY.md", 7, None)),
        ("MEMORY.md:7:20", ("MEMORY.md", 7, 20)),
        ("MEMORY.md:7-9", ("MEMORY.md", 7, 3)),
        ("a:b.md:2", ("a:b.md", 2, None)),
        ("a:b.md", ("a:b.md", None, None)),
    ],
)
def test_a_place_is_a_path_with_lines(place: str, meant: tuple[str, int | None, int | None]) -> None:
    """The form that search prints, and the form with a count, both name lines; other colons are the path's."""
    assert parse_place(place) == meant


@pytest.mark.parametrize("place", ["", "a.md:0:5", "a.md:9-3", "a.md:1:0"])
def test_lines_that_cannot_be_are_a_usage_error(place: str) -> None:
    """Line numbers start at 1 and ranges do not run backwards."""
    with pytest.raises(VerbError) as caught:
        parse_place(place)
    assert caught.value.exit_code == 2


def test_lines_are_printed_as_they_are(run: Run, daemon: FakeDaemon) -> None:
    """Standard output is the text and nothing else; what follows it is talk."""
    reply = {"path": "MEMORY.md", "text": "one\ntwo", "from": 7, "lines": 2, "truncated": True, "nextFrom": 9}
    daemon.routes[ROUTE] = (200, reply)
    result = run("get", "MEMORY.md:7:2")
    assert (result.exit_code, result.stdout) == (0, "one\ntwo\n")
    assert result.stderr == "more: qmd-sidecar get MEMORY.md:9\n"
    sent = {"path": "MEMORY.md", "from": 7, "lines": 2, "sessionKey": "agent:main:cli:direct:get"}
    assert daemon.bodies(ROUTE[1]) == [sent]


def test_a_missing_file_is_a_failure_in_words(run: Run, daemon: FakeDaemon) -> None:
    """The daemon's empty answer becomes a sentence and exit code 1."""
    daemon.routes[ROUTE] = (200, {"path": "gone.md", "text": ""})
    result = run("get", "gone.md")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "gone.md does not exist" in result.stderr
    assert "try:" in result.stderr


def test_a_denial_is_told_with_its_rule(run: Run, daemon: FakeDaemon) -> None:
    """A session whose scope forbids reading sees who forbade it."""
    daemon.routes[ROUTE] = (200, {"path": "a.md", "text": "", "denied": {"rule": "rules[0]", "chatType": "group"}})
    result = run("get", "a.md", "--session", "agent:main:slack:group:1")
    assert result.exit_code == 5
    assert "rules[0]" in result.stderr


def test_a_path_outside_the_memory_is_denied(run: Run, daemon: FakeDaemon) -> None:
    """The daemon's refusal of a path has the exit code of a denial."""
    daemon.routes[ROUTE] = (403, error("path_not_allowed", "outside the memory"))
    assert run("get", "../etc/passwd").exit_code == 5


def test_disabled_memory_is_an_engine_that_is_not_there(run: Run, daemon: FakeDaemon) -> None:
    """Reading turned off by configuration is told in the daemon's words."""
    daemon.routes[ROUTE] = (200, {"path": "a.md", "text": "", "disabled": True, "error": "memory is off"})
    result = run("get", "a.md")
    assert (result.exit_code, result.stderr) == (69, "memory is off\n")


def test_a_line_beyond_the_end_is_not_a_missing_file(run: Run, daemon: FakeDaemon) -> None:
    """Two different things, two different sentences."""
    daemon.routes[ROUTE] = (200, {"path": "a.md", "text": "", "from": 90, "lines": 0})
    assert "a.md has no line 90" in run("get", "a.md:90").stderr


def test_a_place_that_is_none_is_a_usage_error(run: Run, daemon: FakeDaemon) -> None:
    """Not a question to the daemon."""
    assert run("get", "MEMORY.md:abc").exit_code == 2


def test_reading_on_keeps_the_agent(run: Run, daemon: FakeDaemon) -> None:
    """The hint can be pasted as it stands."""
    reply = {"path": "a.md", "text": "x", "from": 1, "lines": 1, "truncated": True, "nextFrom": 2}
    daemon.routes[ROUTE] = (200, reply)
    assert "qmd-sidecar get -a main a.md:2" in run("get", "-a", "main", "a.md:1:1").stderr


def test_blank_lines_are_lines(run: Run, daemon: FakeDaemon) -> None:
    """One of them alone is no failure, and none is swallowed."""
    daemon.routes[ROUTE] = (200, {"path": "a.md", "text": "", "from": 2, "lines": 1})
    result = run("get", "a.md:2:1")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "\n", "")
    daemon.routes[ROUTE] = (200, {"path": "a.md", "text": "one\n", "from": 1, "lines": 2})
    assert run("get", "a.md:1:2").stdout == "one\n\n"


def test_a_place_within_a_long_line_can_be_asked_for(run: Run, daemon: FakeDaemon) -> None:
    """As the hint behind a line that was cut says."""
    daemon.routes[ROUTE] = (200, {"path": "a.md", "text": "rest", "from": 4, "lines": 1, "partial": True})
    assert run("get", "--column", "12001", "a.md:4").stdout == "rest\n"
    assert daemon.bodies(ROUTE[1])[0]["column"] == 12001


def test_a_line_that_was_cut_is_told(run: Run, daemon: FakeDaemon) -> None:
    """Nothing is left out in silence."""
    reply = {
        "path": "a.md",
        "text": "x",
        "from": 4,
        "lines": 1,
        "truncated": True,
        "partial": True,
        "nextColumn": 12001,
    }
    daemon.routes[ROUTE] = (200, reply)
    assert "qmd-sidecar get --column 12001 a.md:4" in run("get", "a.md:4").stderr
