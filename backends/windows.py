"""Windows of whole lines in one text: found around words, cut around taken lines, widened to a limit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from backends.graphemes import cut_after, cut_before
from backends.relevance import Occurrence, Question
from backends.tokens import normalize


class Mark(NamedTuple):
    """A word of the query on a line (1-based). The occurrence's offsets count from the start of the searched text."""

    line: int
    occurrence: Occurrence


@dataclass(frozen=True, slots=True)
class Window:
    """Lines `first..last` (1-based, inclusive) and the words that stand there. `cut` is a range in a long one."""

    first: int
    last: int
    marks: tuple[Mark, ...] = ()
    cut: tuple[int, int] | None = None

    @property
    def found(self) -> list[Occurrence]:
        """The occurrences without their lines."""
        return [mark.occurrence for mark in self.marks]

    def touches(self, taken: Collection[int]) -> bool:
        """Whether any of its lines is taken."""
        return any(line in taken for line in range(self.first, self.last + 1))


class Sheet:
    """The lines of one text and a limit in code points for what may be shown of it at once."""

    def __init__(self, lines: list[str], max_chars: int) -> None:
        self.lines = lines
        self.max_chars = max_chars
        # ends[i] is the length of the first i lines with their line breaks.
        self._ends = list(accumulate((len(line) + 1 for line in lines), initial=0))

    def length(self, first: int, last: int) -> int:
        """Code points of lines `first..last` joined by line breaks."""
        return self._ends[last] - self._ends[first - 1] - 1

    def marks(self, question: Question, first: int, last: int) -> list[Mark]:
        """The words of the question in lines `first..last`, in order."""
        text = normalize("\n".join(self.lines[first - 1 : last]))
        found = question.occurrences(text)
        if not found:
            return []
        breaks = list(_breaks(text))
        return [Mark(first + bisect_left(breaks, occurrence.start), occurrence) for occurrence in found]

    def around(self, question: Question, marks: list[Mark]) -> Iterator[Window]:
        """Every largest run of marked lines that fits, in order; a line that is too long alone gives one window."""
        lines = sorted({mark.line for mark in marks})
        order = [mark.line for mark in marks]
        reached = 0
        for at, first in enumerate(lines):
            if self.length(first, first) > self.max_chars:
                yield self._inside(question, first)
                continue
            end = at
            while end + 1 < len(lines) and self.length(first, lines[end + 1]) <= self.max_chars:
                end += 1
            if end + 1 > reached:
                reached = end + 1
                last = lines[end]
                yield Window(first, last, tuple(marks[bisect_left(order, first) : bisect_right(order, last)]))

    def head(self, first: int, last: int) -> Window:
        """The beginning of lines `first..last`, for a place that was found by meaning and not by its words."""
        end = first
        while end < last and self.length(first, end + 1) <= self.max_chars:
            end += 1
        cut = (
            None
            if self.length(first, end) <= self.max_chars
            else (0, cut_before(self.lines[first - 1], self.max_chars))
        )
        return Window(first, end, (), cut)

    def widen(self, window: Window, taken: Collection[int]) -> Window:
        """Add free lines after and before in turn while they fit, and leave blank lines at the borders out."""
        if window.cut:
            return window
        tight = self._tightest(window)
        first, last = tight.first, tight.last
        growing = True
        while growing:
            growing = False
            if last < len(self.lines) and last + 1 not in taken and self.length(first, last + 1) <= self.max_chars:
                last, growing = last + 1, True
            if first > 1 and first - 1 not in taken and self.length(first - 1, last) <= self.max_chars:
                first, growing = first - 1, True
        while last > tight.last and not self.lines[last - 1].strip():
            last -= 1
        while first < tight.first and not self.lines[first - 1].strip():
            first += 1
        return Window(first, last, window.marks)

    def _tightest(self, window: Window) -> Window:
        """The shortest part that holds every word of the window: what is around it is shown best when it is central."""
        needed = len({mark.occurrence.term for mark in window.marks})
        inside: Counter[int] = Counter()
        best, start = window, 0
        for mark in window.marks:
            inside[mark.occurrence.term] += 1
            while len(inside) == needed:
                first = window.marks[start]
                if self.length(first.line, mark.line) < self.length(best.first, best.last):
                    best = Window(first.line, mark.line, window.marks)
                inside[first.occurrence.term] -= 1
                if not inside[first.occurrence.term]:
                    del inside[first.occurrence.term]
                start += 1
        return best

    def text(self, window: Window) -> str:
        """What is shown of a window."""
        if window.cut:
            return self.lines[window.first - 1][slice(*window.cut)]
        return "\n".join(self.lines[window.first - 1 : window.last])

    def _inside(self, question: Question, line: int) -> Window:
        # Normalising may change lengths (ß, ligatures), so places scale; the margin on both sides absorbs the rest.
        raw = self.lines[line - 1]
        scale = len(raw) / max(1, len(normalize(raw)))
        best = max(self._runs(self.marks(question, line, line)), key=_variety)
        start, end = int(best[0].occurrence.start * scale), int(best[-1].occurrence.end * scale)
        begin = max(0, min(start - (self.max_chars - (end - start)) // 2, len(raw) - self.max_chars))
        begin = cut_after(raw, begin)
        return Window(line, line, tuple(best), (begin, cut_before(raw, begin + self.max_chars)))

    def _runs(self, marks: list[Mark]) -> Iterator[list[Mark]]:
        end = 0
        for at, mark in enumerate(marks):
            end = max(end, at + 1)
            while end < len(marks) and marks[end].occurrence.end - mark.occurrence.start <= self.max_chars:
                end += 1
            yield marks[at:end]


def _variety(run: list[Mark]) -> tuple[int, int]:
    return len({mark.occurrence.term for mark in run}), len(run)


def _breaks(text: str) -> Iterator[int]:
    at = text.find("\n")
    while at >= 0:
        yield at
        at = text.find("\n", at + 1)
