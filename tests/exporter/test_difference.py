"""Diffs of exports: exact where they are complete, and bounded."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from exporter.difference import MAX_LINES, Difference

LINES = st.lists(st.sampled_from("abc"), max_size=12)
HUNK = re.compile(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@")


def difference(old: Sequence[str], new: Sequence[str]) -> tuple[list[str], bool]:
    """The diff, and whether it is cut."""
    found = Difference(iter(old))
    assert list(found.watched(new)) == list(new)
    return list(found.lines()), found.cut


def patched(old: Sequence[str], diff: Sequence[str]) -> list[str]:
    """The new lines, made of the old ones and the diff as `patch` would."""
    new: list[str] = []
    taken = 0
    for line in diff:
        if hunk := HUNK.fullmatch(line):
            start, count = int(hunk[1]), int(hunk[2])
            first = start - 1 if count else start
            new += old[taken:first]
            taken = first
            assert len(new) == int(hunk[3]) - (1 if int(hunk[4]) else 0)
        elif line[0] == "-":
            assert old[taken] == line[1:]
            taken += 1
        else:
            new.append(line[1:])
    return [*new, *old[taken:]]


@given(LINES, LINES)
def test_a_diff_makes_the_new_of_the_old(old: list[str], new: list[str]) -> None:
    """With line numbers that are those of the whole files."""
    diff, cut = difference(old, new)
    assert patched(old, diff) == new
    assert not cut


def test_what_is_the_same_has_no_diff() -> None:
    """However long it is."""
    same = ["line"] * (10 * MAX_LINES)
    assert difference(same, same) == ([], False)


def test_a_long_diff_is_cut_and_says_so() -> None:
    """On either side."""
    assert difference([], ["new"] * (MAX_LINES + 1))[1]
    assert difference(["old"] * (MAX_LINES + 1), [])[1]
    assert not difference([], ["new"] * MAX_LINES)[1]
