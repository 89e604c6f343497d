"""`qmd-sidecar status --watch`."""

from __future__ import annotations

import pytest

from tests.sidecar.cli.conftest import Run
from tests.sidecar.cli.fake_daemon import FakeDaemon
from tests.sidecar.cli.pseudo_terminal import on_terminal
from tests.sidecar.cli.test_status import agent, whole

STATUS = ("GET", "/v1/status")
UP_EIGHT_LINES = "\x1b[8A"
#: How a drawing ends: with what was below it gone, and lines that wrap again.
END = "\x1b[J\x1b[?7h"


def test_what_is_watched_is_drawn_in_place(environ: dict[str, str], daemon: FakeDaemon) -> None:
    """Over itself, line by line, until Ctrl-C, which leaves the last one and says nothing."""
    daemon.routes[STATUS] = (200, whole(agent()))
    with on_terminal(environ, "status", "--watch") as terminal:
        first = terminal.until(END)
        daemon.routes[STATUS] = (200, whole(agent(state="indexing")))
        second = terminal.until(f"\x1b[?7l\r{UP_EIGHT_LINES}").rpartition(UP_EIGHT_LINES)[0]
        assert second.startswith(first)
        terminal.until("indexing")
        assert terminal.interrupt() == 130
    assert terminal.written.endswith(END)


def test_a_daemon_that_goes_away_is_watched_for(environ: dict[str, str], daemon: FakeDaemon) -> None:
    """It may be restarted, and then is seen again."""
    daemon.routes[STATUS] = (200, whole(agent()))
    with on_terminal(environ, "status", "--watch") as terminal:
        terminal.until("ready")
        daemon.close()
        terminal.until("is not running")


def test_a_screen_that_is_too_small_counts_what_is_left_out(environ: dict[str, str], daemon: FakeDaemon) -> None:
    """What scrolled out of it could not be drawn over."""
    daemon.routes[STATUS] = (200, whole(*(agent(id=f"agent{number}") for number in range(30))))
    with on_terminal(environ, "status", "--watch", rows=10) as terminal:
        drawn = terminal.until(END)
    assert drawn.count("\n") == 9
    assert "and 29 more lines" in drawn


@pytest.mark.parametrize("more", [(), ("--json",), ("--deep",)])
def test_what_cannot_be_watched_is_a_usage_error(run: Run, daemon: FakeDaemon, more: tuple[str, ...]) -> None:
    """A pipe, for one; and a provider is not paid for every drawing."""
    result = run("status", "--watch", *more)
    assert result.exit_code == 2
    assert daemon.requests == []
