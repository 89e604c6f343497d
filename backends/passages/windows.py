"""Windows of whole lines over a stretch of text: what a query finds in each line, and in every run that fits.

All arithmetic is on arrays with a row per line, so that a note of thousands of lines costs little more than one
of ten.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from backends.relevance import Floats, Found, Question
from backends.text.graphemes import cut_after, cut_before, word_after, word_before
from backends.text.occurrences import Occurrence
from backends.text.tokens import normalize

Rows: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

#: Lines around a passage that tell what it speaks of.
NEAR_LINES = 4
_BLOCK_CHARS = 4096
# A name or a heading before a colon, behind the marks of lists and emphasis.
_LABEL = re.compile(r"[^\w\n]*(\w[^:\n]{0,40}):")


@dataclass(frozen=True, slots=True)
class Spans:
    """`k` windows as rows of a sheet: `first` (k) and `last` (k), both inclusive."""

    first: Rows
    last: Rows

    def __len__(self) -> int:
        return len(self.first)


class Sheet:
    """Rows of text, and a limit in code points for what may be shown at once.

    A line that is longer than the limit alone is shown as its best part.
    """

    def __init__(self, lines: Sequence[str], question: Question, max_chars: int) -> None:
        self.lines = lines
        self._question = question
        self._max_chars = max_chars
        count, terms = len(lines), len(question.terms)
        # ends[i] is the length of the first i lines with their line breaks.
        self._ends = np.fromiter(accumulate((len(line) + 1 for line in lines), initial=0), np.int64, count + 1)
        self._long = np.diff(self._ends) - 1 > max_chars
        self._filled = np.fromiter((bool(line.strip()) for line in lines), bool, count)
        # One column for each term's share, for each pair of neighbouring terms, for an identifier as typed and for what
        # a label covers; and a row of zeros behind the lines, where windows may end.
        self._found = np.zeros((count + 1, terms + max(0, terms - 1) + 2), np.float32)
        self._counts = np.zeros((count + 1, terms), np.float32)
        self._cuts: dict[int, tuple[int, int]] = {}
        self._mark_all()
        self._shares = self._found[:count, :terms]
        self._before, self._after = _around(self._shares), _around(self._shares[::-1])[::-1]

    def _mark_all(self) -> None:
        # Gathered first: a thousand cells that are set one by one cost more than all that follows.
        cells: list[tuple[int, int, float]] = []
        counted: list[tuple[int, int, float]] = []
        for row, found, text, start in self._marked_rows():
            shown = self._best_part(row, found, start) if self._long[row] else found
            counted += [(row, at.term, at.share) for at in shown]
            cells += self._beside(row, shown)
            if cover := self._label_cover(shown, text, start):
                cells.append((row, -1, cover))
        if counted:
            _put(self._found, counted + cells, np.maximum)
            _put(self._counts[1:], counted, np.add)
            np.cumsum(self._counts, axis=0, out=self._counts)

    def _marked_rows(self) -> Iterator[tuple[int, list[Occurrence], str, int]]:
        """Every row on which a term stands, with what stands there, and where it begins in the normalised text."""
        text = normalize("\n".join(self.lines))
        row, start, at = 0, 0, 0
        here: list[Occurrence] = []
        for occurrence in self._question.occurrences(text):
            breaks = text.count("\n", at, occurrence.start)
            if breaks:
                if here:
                    yield row, here, text, start
                here = []
                row, start = row + breaks, text.rfind("\n", 0, occurrence.start) + 1
            at = occurrence.start
            here.append(occurrence)
        if here:
            yield row, here, text, start

    def _beside(self, row: int, found: list[Occurrence]) -> Iterator[tuple[int, int, float]]:
        """The cells of pairs of terms that stand side by side, and of an identifier as typed."""
        terms = self._question.terms
        for before, after in pairwise(found):
            if after.term == before.term + 1 and 0 <= after.start - before.end <= 2:
                yield row, len(terms) + before.term, 1.0
        if any(at.share == 1.0 and terms[at.term].identifier for at in found):
            yield row, -2, 1.0

    def _label_cover(self, found: list[Occurrence], text: str, start: int) -> float:
        """What a line covers besides its own label, where the label is asked for."""
        label = _LABEL.match(text, start)
        if label is None or found[0].end > label.end():
            return 0.0
        named = {at.term for at in found if at.end <= label.end()}
        return self._question.coverage({at.term: at.share for at in found if at.term not in named})

    def _best_part(self, row: int, found: list[Occurrence], start: int) -> list[Occurrence]:
        """The words of a long line that are shown together, and which part of the line shows them."""
        raw, limit = self.lines[row], self._max_chars
        best = _best_run(found, limit)
        begin_at, end_at = _raw_places(raw, best[0].start - start, best[-1].end - start)
        begin = max(0, min(begin_at - max(0, limit - (end_at - begin_at)) // 2, len(raw) - limit))
        begin = min(word_after(raw, begin), cut_after(raw, max(begin, begin_at)))
        stop = max(word_before(raw, begin + limit), cut_before(raw, min(end_at, begin + limit)))
        self._cuts[row] = begin, stop
        return best

    def spans(self, closed: Flags) -> Spans:
        """Every largest window, in order, that begins at a row with text and holds no closed one (a flag a row)."""
        count = len(self.lines)
        stops = closed | self._long
        first = np.flatnonzero(self._filled & ~stops)
        rows = np.arange(count)
        # The next row from each on that ends a window, and the last one with text up to each.
        barrier = np.minimum.accumulate(np.where(stops, rows, count)[::-1])[::-1]
        filled = np.maximum.accumulate(np.where(self._filled, rows, -1))
        last = np.searchsorted(self._ends, self._ends[first] + self._max_chars + 1, side="right") - 2
        last = filled[np.minimum(np.maximum(last, first), barrier[first] - 1)]
        alone = np.flatnonzero(self._long & ~closed)
        if not len(alone):
            return Spans(first, last)
        first, last = np.concatenate([first, alone]), np.concatenate([last, alone])
        order = np.argsort(first)
        return Spans(first[order], last[order])

    def next_filled(self, row: int) -> int:
        """The first row with text from `row` on, itself where there is none."""
        return row + int(np.argmax(self._filled[row:]))

    def last_filled(self, row: int) -> int:
        """The last row with text up to `row`; there must be one."""
        return row - int(np.argmax(self._filled[row::-1]))

    def found(self, spans: Spans, names: Floats, dated: Floats) -> Found:
        """What the windows hold of the question; `names` (k, t) and `dated` (k) are those of their files."""
        terms = len(self._question.terms)
        most = np.maximum.reduceat(self._found, borders(spans), axis=0)[::2]
        return Found(
            shares=most[:, :terms],
            near=np.maximum(self._before[spans.first], self._after[spans.last]),
            counts=self._counts[spans.last + 1] - self._counts[spans.first],
            pairs=most[:, terms:-2],
            identified=most[:, -2],
            labelled=most[:, -1],
            names=names,
            dated=dated,
        )

    def cut(self, row: int) -> tuple[int, int] | None:
        """The part that is shown of a line that is too long, None for any other."""
        if not self._long[row]:
            return None
        if row not in self._cuts:
            line = self.lines[row]
            begin = len(line) - len(line.lstrip())
            self._cuts[row] = begin, max(begin, word_before(line, begin + self._max_chars))
        return self._cuts[row]

    def strongest(self, values: Floats, spans: Spans) -> Floats:
        """The value of the line in each window that covers most of the question, the first of equals."""
        return values[[self.strongest_row(*rows) for rows in zip(spans.first, spans.last, strict=True)]]

    def strongest_row(self, first: int, last: int) -> int:
        """The row among `first..last` that covers most of the question, the first of equals."""
        return int(first + np.argmax(self._shares[first : last + 1] @ self._question.masses))

    def marked(self, first: int, last: int) -> list[int]:
        """The rows among `first..last` on which a term stands."""
        rows = self._shares[first : last + 1].any(axis=1)
        return (np.flatnonzero(rows) + first).tolist()

    def terms_in(self, first: int, last: int) -> list[int]:
        """The numbers of the terms that stand in the rows `first..last`."""
        return np.flatnonzero(self._shares[first : last + 1].max(axis=0)).tolist()


def _raw_places(raw: str, *normalized: int) -> list[int]:
    """The places in a text of places in its normalised form, which may be shorter or longer (accents, ß, ligatures)."""
    if raw.isascii():
        return list(normalized)
    blocks = [raw[at : at + _BLOCK_CHARS] for at in range(0, len(raw), _BLOCK_CHARS)]
    ends = list(accumulate((len(normalize(block)) for block in blocks), initial=0))
    return [_raw_place(blocks, ends, place) for place in normalized]


def _raw_place(blocks: list[str], ends: list[int], place: int) -> int:
    block = min(bisect_right(ends, place), len(blocks)) - 1
    within = place - ends[block]
    inside = blocks[block]
    return block * _BLOCK_CHARS + bisect_left(range(len(inside)), within, key=lambda at: len(normalize(inside[:at])))


def borders(spans: Spans) -> Rows:
    """The rows where windows begin and end, as `ufunc.reduceat` wants them: every second result is a window's."""
    between = np.empty(2 * len(spans), np.int64)
    between[0::2], between[1::2] = spans.first, spans.last + 1
    return between


def _put(table: Floats, cells: Sequence[tuple[int, int, float]], how: np.ufunc) -> None:
    rows, columns, values = zip(*cells, strict=True)
    how.at(table, (np.array(rows), np.array(columns)), np.array(values, np.float32))


def _around(shares: Floats) -> Floats:
    """The best share of each term in the lines before each line, less with distance."""
    best = np.zeros_like(shares)
    for distance in range(1, min(NEAR_LINES + 1, len(shares))):
        weighted = shares[:-distance] * np.float32(1 - distance / (NEAR_LINES + 1))
        np.maximum(best[distance:], weighted, out=best[distance:])
    return best


def _best_run(found: list[Occurrence], max_chars: int) -> list[Occurrence]:
    """The words within `max_chars` that are the most different, then the most; the first of equals."""
    inside: Counter[int] = Counter()
    best, most, end = (0, 0), (0, 0), 0
    for at, first in enumerate(found):
        end = max(end, at)
        while end < len(found) and (end == at or found[end].end - first.start <= max_chars):
            inside[found[end].term] += 1
            end += 1
        if (len(inside), end - at) > most:
            best, most = (at, end), (len(inside), end - at)
        inside[first.term] -= 1
        if not inside[first.term]:
            del inside[first.term]
    return found[slice(*best)]
