"""What a terminal is shown."""

from __future__ import annotations

import datetime as dt
import io
import os
import termios

import pytest

from sidecar.wording.terminal import (
    Style,
    ago,
    can_show,
    duration,
    one_line,
    printable,
    screen_width,
    size,
    took,
    upcoming,
    wants_colour,
)

NOW = dt.datetime(2026, 11, 29, 12, 0, tzinfo=dt.UTC)


class Screen(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False)],
)
def test_colour_on_a_terminal_follows_the_environment(environ: dict[str, str], coloured: bool) -> None:
    """NO_COLOR wins, a dumb terminal has none."""
    assert wants_colour(Screen(), environ) is coloured


def test_a_pipe_has_no_colour_unless_forced() -> None:
    """Programs read plain text."""
    assert not wants_colour(io.StringIO(), {})
    assert wants_colour(io.StringIO(), {"FORCE_COLOR": "1"})


def test_control_characters_are_shown_not_obeyed() -> None:
    """Escapes, C1 controls and direction overrides are replaced; text of any script stays."""
    assert printable("a\x1b[2J\x9b\u202eb\r\nü 漢字\t🙂") == "a\ufffd[2J\ufffd\ufffdb\nü 漢字\t🙂"


def test_a_name_stays_in_its_line() -> None:
    """A file may be called anything, and what it is called must not look like another line of ours."""
    assert one_line("a\nerror: b\t\u2028\x1b[2Jc") == "a\ufffderror: b\ufffd\ufffd\ufffd[2Jc"


@pytest.mark.parametrize(
    ("moment", "told"),
    [
        (None, "-"),
        ("nonsense", "-"),
        (1e30, "-"),
        ("2026-11-29T11:57:00Z", "3m ago"),
        ("2026-11-29T14:00:00+00:00", "in 2h"),
        (NOW.timestamp() - 5, "5s ago"),
    ],
)
def test_moments_are_told_relative_to_now(moment: float | str | None, told: str) -> None:
    """Unix time and RFC 3339 are both understood; what is neither is a dash."""
    assert ago(moment, now=NOW) == told


def test_what_was_planned_and_is_late_comes_now() -> None:
    """A plan in the past reads as a mistake."""
    soon, late = NOW.timestamp() + 60, NOW.timestamp() - 60
    assert [upcoming(moment, now=NOW) for moment in (soon, late, None)] == ["in 1m", "now", "-"]


def test_spans_and_sizes_have_one_unit() -> None:
    """A person needs the largest unit."""
    assert [duration(seconds) for seconds in (0.4, 59, 60, 7300, 200_000)] == ["0s", "59s", "1m", "2h", "2d"]
    assert [took(milliseconds) for milliseconds in (31.2, 9923)] == ["31 ms", "9.9 s"]
    assert [size(count) for count in (812, 61 * 2**20, 3 * 2**30)] == ["812 B", "61 MB", "3.0 GB"]


class Latin(Screen):
    """A terminal whose locale spells only Western letters."""

    encoding = "latin-1"


def test_signs_fall_back_to_ascii_where_they_do_not_show() -> None:
    """The stream's encoding decides, and so does a console that is known to lack them."""
    assert can_show("●", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), {})
    assert not can_show("●", Latin(), {})
    assert not can_show("●", Screen(), {"TERM": "linux"})
    assert (Style(False).symbol("←"), Style(False, symbols=False).symbol("←")) == ("←", "<-")


def test_a_pipe_has_no_width_unless_one_is_named() -> None:
    """What goes into a file is not cut."""
    assert screen_width(io.StringIO(), {}) is None
    assert screen_width(io.StringIO(), {"COLUMNS": "72"}) == 72
    assert screen_width(io.StringIO(), {"COLUMNS": "wide"}) is None


def test_a_terminal_tells_its_own_width() -> None:
    """Asked from the device, as `stty size` would."""
    leader, follower = os.openpty()
    with os.fdopen(leader, "rb"), os.fdopen(follower, "w") as stream:
        termios.tcsetwinsize(stream.fileno(), (24, 97))
        assert screen_width(stream, {}) == 97
