"""Where Markdown is cut best: before a heading, after a paragraph, before a list item; never inside one block.

Only as much Markdown is read as that takes, and most of it from the first letter of each line, since a look at every
line in full would cost more than all the cutting.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

#: What a cut before a line is worth; a line that is `JOINED` stays with the one before it.
JOINED, PLAIN, ITEM, PARAGRAPH, HEADING = range(5)

_BLANK = "\n"
# Headings, fences, tables, and what may underline the prose above it; most dashes are items of a list.
_NOTABLE = re.compile(r"[#`~|=-](?<![\n#`~|+-]-)")
_ROWS = re.compile(r"\|+")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
_FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")


def _table(worth: int, initials: str, other: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.array([worth if chr(code) in initials else other for code in range(128)], dtype=np.uint8)


# A line of prose that happens to begin like an item is no worse a place to cut.
_OWN = _table(ITEM, "-*+0123456789", PLAIN)
_AFTER = _table(PARAGRAPH, _BLANK, JOINED)


def cuts(lines: Sequence[str], before: Sequence[int], tokens: int) -> bytearray:
    """The worth of a cut before each line.

    `before[n]` is what the first `n` lines cost together. Lines are joined only as long as they cost at most `tokens`:
    a heading (with the headings behind it) to the text that follows, a fenced block and a table in themselves.
    """
    return _Marking(lines, before, tokens).marked()


class _Marking:
    """One pass over a text. Spans of lines are half open."""

    def __init__(self, lines: Sequence[str], before: Sequence[int], tokens: int) -> None:
        self._lines = lines
        self._before = before
        self._tokens = tokens
        self._initials = "".join([line[:1] or _BLANK for line in map(str.lstrip, lines)])
        codes = np.frombuffer(self._initials.encode("ascii", "replace"), dtype=np.uint8)
        worth = _OWN[codes]
        np.maximum(worth[1:], _AFTER[codes[:-1]], out=worth[1:])
        self._worth = bytearray(worth)
        self._headings: list[tuple[int, int]] = []

    def marked(self) -> bytearray:
        end = 0
        for match in _NOTABLE.finditer(self._initials):
            if (at := match.start()) >= end:
                end = self._mark(at)
        self._join_headings()
        return self._worth

    def _mark(self, at: int) -> int:
        """Note a heading, or join the lines of a block; returns its end."""
        line, end = self._lines[at], at + 1
        match self._initials[at]:
            case "#" if _HEADING.match(line):
                self._add_heading(at, end)
            case "|" if rows := _ROWS.match(self._initials, at):
                end = rows.end()
                self._join(at, end)
            case "`" | "~" if fence := _FENCE.match(line):
                end = self._fence_end(at, fence[1])
                self._join(at, end)
            case "=" | "-" if at and _UNDERLINE.fullmatch(line) and self._is_title(at - 1):
                self._add_heading(at - 1, end)
        return end

    def _add_heading(self, first: int, end: int) -> None:
        self._worth[first] = HEADING
        self._worth[first + 1 : end] = bytes(end - first - 1)
        self._headings.append((first, end))

    def _is_title(self, at: int) -> bool:
        """Whether a line of dashes below makes a heading of the line: of a paragraph, but of no item and no block."""
        if self._initials[at] == _BLANK or self._worth[at] in (JOINED, HEADING):
            return False
        return not _ITEM.match(self._lines[at]) and self._fits(at, at + 2)

    def _fence_end(self, first: int, mark: str) -> int:
        at = first
        while (at := self._initials.find(mark[0], at + 1)) >= 0:
            line = self._lines[at].strip()
            if line.startswith(mark) and not line.strip(mark[0]):
                return at + 1
        # A fence that nobody closed reaches to the end, as every reader of Markdown has it.
        return len(self._lines)

    def _join(self, first: int, end: int) -> None:
        if self._fits(first, end):
            self._worth[first + 1 : end] = bytes(end - first - 1)

    def _fits(self, first: int, end: int) -> bool:
        return self._before[end] - self._before[first] <= self._tokens

    def _join_headings(self) -> None:
        """Join each heading to what follows it, the last one first: of a run too long for a chunk the end has text."""
        joined = (len(self._lines), len(self._lines))
        for first, end in reversed(self._headings):
            text = end
            while text < len(self._lines) and self._initials[text] == _BLANK:
                text += 1
            block_end = joined[1] if text == joined[0] else self._end_of_joined(text)
            if self._fits(first, block_end):
                joined = first, block_end
            elif text != joined[0] and self._fits(first, text + 1):
                # Of a heading and a block that do not fit together, the block is cut: it needs its title more.
                self._worth[text + 1 : block_end] = bytes([PLAIN]) * (block_end - text - 1)
                joined = first, text + 1
            else:
                joined = first, end
                continue
            self._worth[end : text + 1] = bytes(min(text + 1, len(self._lines)) - end)

    def _end_of_joined(self, first: int) -> int:
        end = first + 1
        while end < len(self._lines) and self._worth[end] == JOINED:
            end += 1
        return end
