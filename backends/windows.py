"""Windows of whole lines in one text: found around words, cut around taken lines, widened to a limit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from backends.graphemes import cut_after, cut_before, word_after, word_before
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


def marks(question: Question, text: str, first: int) -> list[Mark]:
    """The words of the question in a text that begins with line `first`, in order."""
    normalized = normalize(text)
    found: list[Mark] = []
    line, at = first, 0
    for occurrence in question.occurrences(normalized):
        line, at = line + normalized.count("\n", at, occurrence.start), occurrence.start
        found.append(Mark(line, occurrence))
    return found


class Sheet:
    """Lines of a text from number `first` on, and a limit in code points for what may be shown of it at once."""

    def __init__(self, lines: list[str], max_chars: int, first: int = 1) -> None:
        self.first = first
        self.last = first + len(lines) - 1
        self.max_chars = max_chars
        self._lines = lines
        # ends[i] is the length of the first i lines with their line breaks.
        self._ends = list(accumulate((len(line) + 1 for line in lines), initial=0))

    def length(self, first: int, last: int) -> int:
        """Code points of lines `first..last` joined by line breaks."""
        return self._ends[last - self.first + 1] - self._ends[first - self.first] - 1

    def line(self, number: int) -> str:
        """One line without its end."""
        return self._lines[number - self.first]

    def around(self, question: Question, found: list[Mark]) -> Iterator[Window]:
        """Every largest run of marked lines that fits, in order; a line that is too long alone gives one window."""
        lines = sorted({mark.line for mark in found})
        order = [mark.line for mark in found]
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
                yield Window(first, last, tuple(found[bisect_left(order, first) : bisect_right(order, last)]))

    def head(self, first: int, last: int) -> Window:
        """The beginning of lines `first..last`, for a place that was found by meaning and not by its words."""
        end = first
        while end < last and self.length(first, end + 1) <= self.max_chars:
            end += 1
        if self.length(first, end) <= self.max_chars:
            return Window(first, end)
        return Window(first, end, (), (0, word_before(self.line(first), self.max_chars)))

    def widen(self, window: Window, taken: Collection[int]) -> Window:
        """Add free lines after and before in turn while they fit, and leave blank lines at the borders out."""
        if window.cut:
            return window
        tight = self._tightest(window)
        first, last = tight.first, tight.last
        growing = True
        while growing:
            growing = False
            if last < self.last and last + 1 not in taken and self.length(first, last + 1) <= self.max_chars:
                last, growing = last + 1, True
            if first > self.first and first - 1 not in taken and self.length(first - 1, last) <= self.max_chars:
                first, growing = first - 1, True
        while last > tight.last and not self.line(last).strip():
            last -= 1
        while first < tight.first and not self.line(first).strip():
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
            return self.line(window.first)[slice(*window.cut)]
        return "\n".join(self._lines[window.first - self.first : window.last - self.first + 1])

    def _inside(self, question: Question, line: int) -> Window:
        # Normalising may change lengths (ß, ligatures), so places scale; the margin on both sides absorbs the rest.
        raw = self.line(line)
        best = _best_run(marks(question, raw, line), self.max_chars)
        scale = len(raw) / max(1, len(normalize(raw)))
        start, end = int(best[0].occurrence.start * scale), int(best[-1].occurrence.end * scale)
        begin = max(0, min(start - (self.max_chars - (end - start)) // 2, len(raw) - self.max_chars))
        begin = min(word_after(raw, begin), cut_after(raw, max(begin, start)))
        stop = max(word_before(raw, begin + self.max_chars), cut_before(raw, min(end, begin + self.max_chars)))
        return Window(line, line, tuple(best), (begin, stop))


def _best_run(found: list[Mark], max_chars: int) -> list[Mark]:
    """The marks within `max_chars` that hold the most different words, then the most words; the first of equals."""
    inside: Counter[int] = Counter()
    best, most, end = (0, 0), (0, 0), 0
    for at, mark in enumerate(found):
        end = max(end, at)
        while end < len(found) and (end == at or found[end].occurrence.end - mark.occurrence.start <= max_chars):
            inside[found[end].occurrence.term] += 1
            end += 1
        if (len(inside), end - at) > most:
            best, most = (at, end), (len(inside), end - at)
        inside[mark.occurrence.term] -= 1
        if not inside[mark.occurrence.term]:
            del inside[mark.occurrence.term]
    return found[slice(*best)]
