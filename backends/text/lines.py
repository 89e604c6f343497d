"""The lines of a text by number, without cutting the text into all of them: a file may hold millions of blank ones."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import accumulate

_BLOCK_CHARS = 4096
_BREAK = re.compile("\n")


class Lines:
    """Lines are 1-based and end as `corpus.split_lines` says."""

    def __init__(self, text: str) -> None:
        self._text = text
        counts = (text.count("\n", at, at + _BLOCK_CHARS) for at in range(0, len(text), _BLOCK_CHARS))
        # breaks_before[i] is the number of line breaks before block i.
        self._breaks_before = list(accumulate(counts, initial=0))
        self._block: tuple[int, list[int]] = (-1, [])

    @property
    def count(self) -> int:
        """How many lines there are."""
        return self._breaks_before[-1] + (not self._text.endswith("\n") and self._text != "")

    def text(self, first: int, last: int) -> str:
        """Lines `first..last` with their ends, as far as they exist."""
        return self._text[self._start(first) : self._start(last + 1)]

    def around(self, first: int, last: int, chars: int) -> tuple[int, int]:
        """Lines `first..last` and those that lie within `chars` code points of them."""
        start, end = self._start(first), self._start(last + 1)
        before = self._text.count("\n", max(0, start - chars), start)
        after = self._text.count("\n", end, end + chars)
        return max(1, first - before), min(self.count, last + 1 + after)

    def length(self, first: int, last: int) -> int:
        """The code points of lines `first..last` with their ends."""
        return self._start(last + 1) - self._start(first)

    def _start(self, line: int) -> int:
        breaks = line - 1
        if breaks <= 0 or breaks > self._breaks_before[-1]:
            return 0 if breaks <= 0 else len(self._text)
        block = bisect_left(self._breaks_before, breaks) - 1
        return self._starts_in(block)[breaks - self._breaks_before[block] - 1]

    def _starts_in(self, block: int) -> list[int]:
        """Where lines begin behind the breaks of a block. The last one is kept: who asks goes from line to line."""
        known, starts = self._block
        if block != known:
            at = block * _BLOCK_CHARS
            starts = [match.end() for match in _BREAK.finditer(self._text, at, at + _BLOCK_CHARS)]
            self._block = block, starts
        return starts


def spans(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of lines (inclusive) as disjoint ones in order; those that touch become one."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined
