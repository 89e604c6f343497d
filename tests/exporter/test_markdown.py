"""Rendering: headings, days, pieces and the map back."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.markdown import MAX_PIECE_CHARS, Rendering, day_said, pieces
from exporter.transcript import Message


def test_a_session_has_a_heading_days_and_turns() -> None:
    """Each day has a heading in the user's zone, and each output line knows its transcript line."""
    rendering = Rendering("s1.jsonl", ZoneInfo("Europe/Berlin"))
    lines = list(
        rendering.lines(
            [
                Message(2, "user", "late", datetime(2026, 11, 27, 22, 30, tzinfo=UTC)),
                Message(3, "assistant", "later", datetime(2026, 11, 27, 23, 30, tzinfo=UTC)),
                Message(7, "user", "no time", None),
            ]
        )
    )
    assert lines == [
        "# Session s1",
        "<!-- qmd-sidecar export of s1.jsonl -->",
        "",
        "## 2026-11-27",
        "User: late",
        "",
        "## 2026-11-28",
        "Assistant: later",
        "User: no time",
    ]
    assert list(rendering.line_map) == [0, 0, 0, 0, 2, 0, 0, 3, 7]
    assert rendering.turns == 3


def test_no_messages_make_no_lines() -> None:
    """An empty session has no file, not even a heading."""
    assert list(Rendering("s1.jsonl", UTC).lines([])) == []


def test_a_long_turn_is_cut_at_a_space() -> None:
    """Every piece carries the label and maps to the same transcript line."""
    rendering = Rendering("s1.jsonl", UTC)
    lines = [
        line for line in rendering.lines([Message(2, "user", "word " * 400 + "end", None)]) if line.startswith("User")
    ]
    assert len(lines) == 3
    assert {len(line) for line in lines[:2]} == {len("User: ") + MAX_PIECE_CHARS - 1}


@given(st.text(alphabet="ab。\u0301 ", max_size=3000).map(lambda text: " ".join(text.split())))
def test_pieces_lose_nothing(text: str) -> None:
    """The pieces hold every character but the spaces at the cuts, and none is too long."""
    cut = list(pieces(text))
    assert all(len(piece) <= MAX_PIECE_CHARS for piece in cut)
    assert "".join(cut).replace(" ", "") == text.replace(" ", "")


def test_ideographs_are_cut_at_a_stop() -> None:
    """Chinese and Japanese have no spaces."""
    sentence = "船は九時に出る。"
    assert {piece[-1] for piece in pieces(sentence * 300)} == {"。"}


@pytest.mark.parametrize("whole", ["e\u0301", "👩\u200d👧", "❤\ufe0f", "👋🏽"])
@pytest.mark.parametrize("before", ["", "x", "xx"])
def test_a_character_of_several_code_points_is_not_torn(whole: str, before: str) -> None:
    """Wherever the limit falls."""
    cut = list(pieces(before + whole * 900))
    assert len(cut) > 1
    assert all(piece.removeprefix(before) == whole * (len(piece.removeprefix(before)) // len(whole)) for piece in cut)


def test_a_word_of_marks_alone_has_an_end() -> None:
    assert [len(piece) for piece in pieces("\u0301" * 1700)] == [800, 800, 100]


@pytest.mark.parametrize(
    ("first", "day"),
    [(1, "2026-11-27"), (4, "2026-11-27"), (5, "2026-11-27"), (6, "2026-11-28"), (8, "2026-11-28"), (99, "2026-11-28")],
)
def test_a_turn_was_said_on_the_day_of_the_heading_above_it(first: int, day: str) -> None:
    """Also when one looks from a line that is ours; words that look like a heading are none."""
    messages = [
        Message(2, "user", "## 2020-01-01", datetime(2026, 11, 27, 10, tzinfo=UTC)),
        Message(3, "user", "later", datetime(2026, 11, 28, 10, tzinfo=UTC)),
    ]
    lines = list(Rendering("s1.jsonl", ZoneInfo("UTC")).lines(messages))
    assert day_said(lines, first) == day


def test_a_turn_without_a_time_was_said_on_no_known_day() -> None:
    lines = list(Rendering("s1.jsonl", ZoneInfo("UTC")).lines([Message(2, "user", "hello", None)]))
    assert day_said(lines, 1) == ""
