"""Lines by number are those of a full split, in any text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.corpus import split_lines
from backends.text.lines import Lines, spans

TEXTS = st.text(st.sampled_from("ab\n\r\u2028é")) | st.builds(
    lambda text, times: text * times, st.text("a\n"), st.just(2000)
)


@given(TEXTS, st.data())
def test_any_range_is_that_of_the_split_text(text: str, data: st.DataObject) -> None:
    """Count and content agree with `split_lines`, also across blocks."""
    every = split_lines(text)
    lines = Lines(text)
    assert lines.count == len(every)
    first = data.draw(st.integers(1, max(1, len(every))))
    last = data.draw(st.integers(first, max(first, len(every))))
    assert split_lines(lines.text(first, last)) == every[first - 1 : last]


def test_touching_ranges_become_one() -> None:
    """Spans are disjoint and in order."""
    assert spans([(5, 9), (1, 2), (3, 3), (20, 30), (22, 24)]) == [(1, 3), (5, 9), (20, 30)]


@pytest.mark.alone
def test_a_line_costs_the_same_however_short_its_neighbours_are() -> None:
    """Asking for one line after another does not walk over those before it each time."""

    def cost_s(text: str) -> float:
        lines = Lines(text)
        started = time.thread_time()
        for line in range(1, 5_000):
            lines.text(line, line)
        return time.thread_time() - started

    short, long = "a\n" * 400_000, ("a" * 79 + "\n") * 10_000
    assert min(cost_s(short) for _ in range(3)) < 10 * min(cost_s(long) for _ in range(3))
