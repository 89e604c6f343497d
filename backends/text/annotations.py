"""How much a note's author thinks a fact matters: `<!-- importance: 8 -->`, and which lines that is said of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_IMPORTANCE = re.compile(r"<!--\s*importance:\s*(\d{1,2})\s*-->", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?-->")
_HEADING = re.compile(r"\s{0,3}(#{1,6})(\s|$)")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])\s")


@dataclass(frozen=True, slots=True)
class Importance:
    """Lines `first..last` (1-based, inclusive) whose relevance is multiplied by `factor`, 0.8..1.25."""

    first: int
    last: int
    factor: float


def factor_of(importance: int) -> float:
    """The factor for an importance of 1..10; anything else is nothing said."""
    return 0.75 + 0.05 * importance if 1 <= importance <= 10 else 1.0


def importances(lines: Sequence[str]) -> Iterator[Importance]:
    """What annotations say of the list items, paragraphs and sections that they stand in, the wider ones first.

    The first of several that say something of the same lines counts.
    """
    blocks = _Blocks(lines)
    said: dict[tuple[int, int], float] = {}
    for at, line in enumerate(lines):
        match = _IMPORTANCE.search(line)
        if match and (factor := factor_of(int(match[1]))) != 1.0:
            first, last = blocks.around(_subject(lines, at))
            said.setdefault((min(first, at) + 1, max(last, at) + 1), factor)
    for first, last in sorted(said, key=lambda block: block[0] - block[1]):
        yield Importance(first, last, said[first, last])


class _Blocks:
    """What each line of a text belongs to. A run of lines that go on with each other is looked at once."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._run_ends = -1
        self._block = (-1, -1)

    def around(self, at: int) -> tuple[int, int]:
        """The item, paragraph or section of a line, for lines in ascending order."""
        if not _continues(self._lines[at]):
            return _block(self._lines, at)
        if at > self._run_ends:
            self._run_ends = at
            while self._run_ends + 1 < len(self._lines) and _continues(self._lines[self._run_ends + 1]):
                self._run_ends += 1
            self._block = _block(self._lines, at)
        return self._block


def _subject(lines: Sequence[str], at: int) -> int:
    """The line that an annotation speaks of: its own, or the one it leans on when it stands alone."""
    if _COMMENT.sub("", lines[at]).strip():
        return at
    above = at - 1
    while above >= 0 and not lines[above].strip():
        above -= 1
    if above >= 0 and (above == at - 1 or _HEADING.match(lines[above])):
        return above
    return at + 1 if at + 1 < len(lines) and lines[at + 1].strip() else at


def _block(lines: Sequence[str], at: int) -> tuple[int, int]:
    heading, item = _HEADING.match(lines[at]), _ITEM.match(lines[at])
    if heading:
        return at, _section_end(lines, at, len(heading[1]))
    if item:
        return at, _item_end(lines, at, len(item[1]))
    first = last = at
    while first > 0 and _continues(lines[first - 1]):
        first -= 1
    if first > 0 and _ITEM.match(lines[first - 1]):
        return first - 1, _item_end(lines, first - 1, 0)
    while last + 1 < len(lines) and _continues(lines[last + 1]):
        last += 1
    return first, last


def _continues(line: str) -> bool:
    """Whether a line goes on with the paragraph around it."""
    return bool(line.strip()) and not _HEADING.match(line) and not _ITEM.match(line)


def _section_end(lines: Sequence[str], at: int, level: int) -> int:
    for below in range(at + 1, len(lines)):
        heading = _HEADING.match(lines[below])
        if heading and len(heading[1]) <= level:
            return below - 1
    return len(lines) - 1


def _item_end(lines: Sequence[str], at: int, indent: int) -> int:
    for below in range(at + 1, len(lines)):
        line, item = lines[below], _ITEM.match(lines[below])
        if not line.strip() or _HEADING.match(line) or (item and len(item[1]) <= indent):
            return below - 1
    return len(lines) - 1
