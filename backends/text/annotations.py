"""What a note's author says of a fact in a comment, and of which lines it is said.

`<!-- importance: 8 -->` tells how much the fact matters, `<!-- trigger: a, b -->` the phrases that bring it to mind.
An annotation stands on one line; one inside backticks is an example of itself.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Ends at the next beginning of a comment: a line full of those that are never closed is looked at once.
_COMMENT = re.compile(r" ?(?<!`)<!--((?:[^-<]|-(?!->)|<(?!!--))*+)-->")
_NAMES = frozenset({"importance", "trigger", "project"})
_COMMA = re.compile("[,\uff0c\u3001\u060c]")
_HEADING = re.compile(r"\s{0,3}(#{1,6})(\s|$)")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])\s")
_FENCE = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(`{3,}(?=[^`]*$)|~{3,})")
#: Stands for a line of code: no heading, no item, no blank line and no annotation, whatever the code looks like.
_CODE = "`"


@dataclass(frozen=True, slots=True)
class Importance:
    """Lines `first..last` (1-based, inclusive) whose relevance is multiplied by `factor`, 0.8..1.25."""

    first: int
    last: int
    factor: float


@dataclass(frozen=True, slots=True)
class Triggered:
    """An entry that `phrases` bring to mind: lines `first..last` (1-based, inclusive), neither of them blank.

    `text` are all lines without annotations. `factor` is the importance that is said of the entry.
    """

    first: int
    last: int
    # Of the whole text: entries stand in each other, and every one with lines of its own could take all memory.
    text: Sequence[str]
    phrases: tuple[str, ...]
    factor: float

    def lines(self) -> Iterator[str]:
        """The entry's own lines."""
        return (self.text[at] for at in range(self.first - 1, self.last))


def factor_of(importance: int) -> float:
    """The factor for an importance of 1..10; anything else is nothing said."""
    return 0.75 + 0.05 * importance if 1 <= importance <= 10 else 1.0


def importances(lines: Sequence[str]) -> Iterator[Importance]:
    """What annotations say of the list items, paragraphs and sections that they stand in, the wider ones first.

    The first of several that say something of the same lines counts.
    """
    said: dict[tuple[int, int], float] = {}
    for block, value in _said("importance", lines):
        if value.isdecimal() and len(value) <= 2 and (factor := factor_of(int(value))) != 1.0:
            said.setdefault(block, factor)
    for first, last in sorted(said, key=lambda block: block[0] - block[1]):
        yield Importance(first, last, said[first, last])


def triggers(lines: Sequence[str]) -> Iterator[Triggered]:
    """The entries of a whole text that have phrases, in order of their first lines. Code in fences says nothing.

    An entry has all phrases of its lines, each once; one without words of its own is none.
    """
    prose = _without_code(lines)
    phrases: dict[tuple[int, int], dict[str, None]] = {}
    for block, value in _said("trigger", prose):
        phrases.setdefault(block, {}).update((phrase.strip(), None) for phrase in _COMMA.split(value))
    if not phrases:
        return
    shown = [line if row is _CODE else _plain(line) for line, row in zip(lines, prose, strict=True)]
    for (block, named), factor in zip(sorted(phrases.items()), _factors(prose, sorted(phrases)), strict=True):
        first, last = _filled(shown, *block)
        if first <= last and (spoken := tuple(filter(None, named))):
            yield Triggered(first, last, shown, spoken, factor)


def _factors(lines: Sequence[str], blocks: Sequence[tuple[int, int]]) -> list[float]:
    """The importance that is said of the first line of each block, in order of the blocks."""
    starts = [first for first, _ in blocks]
    factors = [1.0] * len(starts)
    for said in importances(lines):
        within = slice(bisect_left(starts, said.first), bisect_right(starts, said.last))
        factors[within] = [said.factor] * (within.stop - within.start)
    return factors


def _filled(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """The same range of lines (1-based) without blank ones around it."""
    while first <= last and not lines[first - 1].strip():
        first += 1
    while first <= last and not lines[last - 1].strip():
        last -= 1
    return first, last


def _said(wanted: str, lines: Sequence[str]) -> Iterator[tuple[tuple[int, int], str]]:
    """What every annotation of that name says, with the first and last line (1-based) of which it is said."""
    blocks = _Blocks(lines)
    for at, line in enumerate(lines):
        comments = map(_parts, _COMMENT.finditer(line)) if "<!--" in line else ()
        values = [value for name, value in comments if name == wanted]
        if values:
            first, last = blocks.around(_subject(lines, at))
            yield from (((min(first, at) + 1, max(last, at) + 1), value) for value in values)


def _parts(comment: re.Match[str]) -> tuple[str, str]:
    name, _, value = comment[1].partition(":")
    return name.strip().lower(), value.strip()


def _plain(line: str) -> str:
    """A line as people read it. Comments of other kinds are their author's."""
    if "<!--" not in line:
        return line
    return _COMMENT.sub(lambda comment: "" if _parts(comment)[0] in _NAMES else comment[0], line).rstrip()


def _without_code(lines: Sequence[str]) -> list[str]:
    """The same lines, with `_CODE` for each inside a fence. A fence that is not closed goes on to the end."""
    prose: list[str] = []
    fence = ""
    for line in lines:
        if not fence:
            fence = opening[1] if (opening := _FENCE.match(line)) else ""
        elif _closes(line.strip(), fence):
            fence = ""
        else:
            prose.append(_CODE)
            continue
        prose.append(line)
    return prose


def _closes(text: str, fence: str) -> bool:
    return text.startswith(fence) and not text.strip(fence[0])


class _Blocks:
    """What each line of a text belongs to. Runs of lines that go on with each other, and lists, are looked at once."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._run_ends = -1
        self._run = (-1, -1)
        self._item_ends: dict[int, int] = {}

    def around(self, at: int) -> tuple[int, int]:
        """The item, paragraph or section of a line, for lines in ascending order."""
        if not _continues(self._lines[at]):
            return self._block(at)
        if at > self._run_ends:
            self._run_ends = at
            while self._run_ends + 1 < len(self._lines) and _continues(self._lines[self._run_ends + 1]):
                self._run_ends += 1
            self._run = self._block(at)
        return self._run

    def _block(self, at: int) -> tuple[int, int]:
        lines = self._lines
        if heading := _HEADING.match(lines[at]):
            return at, _section_end(lines, at, len(heading[1]))
        if _ITEM.match(lines[at]):
            return at, self._item_end(at)
        first = last = at
        while first > 0 and _continues(lines[first - 1]):
            first -= 1
        if first > 0 and _ITEM.match(lines[first - 1]):
            return first - 1, self._item_end(first - 1)
        while last + 1 < len(lines) and _continues(lines[last + 1]):
            last += 1
        return first, last

    def _item_end(self, at: int) -> int:
        if at not in self._item_ends:
            self._item_ends.update(_item_ends(self._lines, at))
        return self._item_ends[at]


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


def _continues(line: str) -> bool:
    """Whether a line goes on with the paragraph around it."""
    return bool(line.strip()) and not _HEADING.match(line) and not _ITEM.match(line)


def _section_end(lines: Sequence[str], at: int, level: int) -> int:
    for below in range(at + 1, len(lines)):
        heading = _HEADING.match(lines[below])
        if heading and len(heading[1]) <= level:
            return below - 1
    return len(lines) - 1


def _item_ends(lines: Sequence[str], at: int) -> Iterator[tuple[int, int]]:
    """An item and those in it, each with its last line. In one go: one by one, a deep list would be read for each."""
    open_items: list[tuple[int, int]] = []
    below = at
    while below < len(lines) and lines[below].strip() and not _HEADING.match(lines[below]):
        if item := _ITEM.match(lines[below]):
            while open_items and len(item[1]) <= open_items[-1][1]:
                yield open_items.pop()[0], below - 1
            if below > at and not open_items:
                return
            open_items.append((below, len(item[1])))
        below += 1
    yield from ((opened, below - 1) for opened, _ in open_items)
