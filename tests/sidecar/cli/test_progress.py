"""How far a long call is."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from threading import Event

import pytest

from sidecar.cli.progress import Line
from sidecar.wording.words import progress
from tests.running import until
from tests.sidecar.cli.fake_daemon import FakeDaemon, send
from tests.sidecar.cli.pseudo_terminal import on_terminal
from tests.sidecar.cli.test_status import agent

SYNC = ("POST", "/v1/agents/main/sync")
VECTORS = {"phase": "vectors", "done": 1280, "total": 10_000, "perSecond": 320.0}
DONE = {"reports": [{"engine": "builtin", "ran": False}]}


@pytest.fixture
def finish(daemon: FakeDaemon) -> Iterator[Event]:
    """A daemon that syncs until this is set, and tells how far it is."""
    event = Event()

    def sync(handler: BaseHTTPRequestHandler) -> None:
        event.wait(60)
        with contextlib.suppress(BrokenPipeError):
            send(handler, 200, DONE)

    daemon.routes[SYNC] = sync
    engines = {"builtin": {"ready": True, "progress": VECTORS}}
    daemon.routes["GET", "/v1/agents/main/status"] = (200, agent(engines=engines))
    yield event
    event.set()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "vectors 1,280 of 10,000, 320/s, 27s left"),
        ({"perSecond": 0.5}, "vectors 1,280 of 10,000, 4h left"),
        ({"perSecond": None}, "vectors 1,280 of 10,000"),
        ({"done": 10_000}, "vectors 10,000 of 10,000, 320/s, 0s left"),
    ],
)
def test_progress_is_told_with_its_pace_and_the_time_that_is_left(changes: dict[str, object], told: str) -> None:
    """As soon as there is one; less than one a second is a number that says nothing."""
    assert progress(VECTORS | changes) == told


def test_a_terminal_shows_the_progress_in_one_line_and_clears_it(environ: dict[str, str], finish: Event) -> None:
    """What stays is the report."""
    with on_terminal(environ, "sync", "--wait", columns=200) as terminal:
        terminal.until("main: builtin vectors 1,280 of 10,000, 320/s, 27s left (")
        finish.set()
        assert terminal.ended() == 0
    assert terminal.written.endswith("\r\x1b[Kmain: builtin had nothing to do\n")


def test_on_a_narrow_terminal_the_line_does_not_wrap(environ: dict[str, str], finish: Event) -> None:
    """A wrapped line could not be replaced."""
    with on_terminal(environ, "embed", columns=30) as terminal:
        terminal.until("main: builtin vectors 1,280 …\x1b[K")


def test_ctrl_c_ends_the_wait_and_says_that_the_work_goes_on(environ: dict[str, str], finish: Event) -> None:
    """Quietly, with the exit code of an interrupted command."""
    with on_terminal(environ, "sync", "--wait") as terminal:
        terminal.until("vectors")
        assert terminal.interrupt() == 130
    assert terminal.written.endswith("\r\x1b[Kthe daemon goes on; qmd-sidecar status tells how far it is\n")


def test_off_a_terminal_a_line_comes_every_ten_seconds_at_most() -> None:
    """A log is not filled with what is over soon."""
    now, stream = 0.0, io.StringIO()
    line = Line(stream, clock=lambda: now)
    for now in (0.5, 9.9, 10.0, 10.5, 19.9, 20.1):
        line.tell(f"at {now}")
    line.end()
    line.tell("too late")
    assert stream.getvalue() == "at 10.0\nat 20.1\n"


def test_a_daemon_that_does_not_say_how_far_it_is_is_waited_for_all_the_same(
    environ: dict[str, str], daemon: FakeDaemon, finish: Event
) -> None:
    """With the time that has passed."""
    daemon.routes["GET", "/v1/agents/main/status"] = (500, b"no JSON")
    with on_terminal(environ, "sync", "main", "--wait") as terminal:
        terminal.until("main: syncing (")
        until(lambda: len(daemon.requests) > 2, what="a second question")
        finish.set()
        assert terminal.ended() == 0
