"""What the vectors of an index know about places in files, and about every window of lines there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from backends.relevance import Floats, Spread
from backends.windows import Flags, Sheet, Spans, borders


@dataclass(frozen=True, slots=True)
class Parts:
    """The vectors of consecutive groups of a place's lines: `lines[i]` lines add up to `rows[i]` (m x dims).

    Only models whose vector of a text is the sum of those of its words have them.
    """

    lines: tuple[int, ...]
    rows: Floats


@dataclass(frozen=True, slots=True)
class Meaning:
    """A question's unit vector, and where cosines lie in the index that is asked."""

    vector: Floats
    spread: Spread


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a file (1-based, inclusive) with their relevance for the vector leg in 0..1; None was not seen."""

    first: int
    last: int
    vector_score: float | None = None
    parts: Parts | None = None


class SheetMeaning:
    """The vector part of every window of a sheet: of its own lines where their vectors are known, else of its place."""

    def __init__(self, sheet: Sheet, meaning: Meaning | None) -> None:
        self._sheet = sheet
        self._meaning = meaning
        self._scores = np.full(len(sheet.lines) + 1, np.nan, np.float32)
        self._heads = np.zeros(len(sheet.lines), bool)
        # Row sums of the lines before each row: what a window holds is a difference of two of them.
        self._sums: Floats | None = None

    def lay(self, row: int, place: Place) -> None:
        """Say what is known of a place whose first line is row `row`."""
        if place.vector_score is None:
            return
        rows = self._scores[row : row + place.last - place.first + 1]
        np.fmax(rows, np.float32(place.vector_score), out=rows)
        self._heads[self._sheet.next_filled(row)] = True
        if place.parts is not None and self._meaning is not None:
            self._lay_parts(row, place.parts)

    def _lay_parts(self, row: int, parts: Parts) -> None:
        if self._sums is None:
            self._sums = np.zeros((len(self._sheet.lines) + 1, parts.rows.shape[1]), np.float32)
        for lines, vector in zip(parts.lines, parts.rows, strict=True):
            # Lines that two places share have their vectors from the first.
            if not self._sums[row + 1].any():
                np.outer(self._sheet.part_shares(row, lines), vector, out=self._sums[row + 1 : row + 1 + lines])
            row += lines

    def ready(self) -> None:
        """Everything was said; windows may be asked for."""
        if self._sums is not None:
            np.cumsum(self._sums, axis=0, out=self._sums)

    def of(self, spans: Spans) -> tuple[Floats, Flags]:
        """The vector parts (k) in 0..1, NaN where nothing is known, and which windows may be shown for them alone.

        Where only the place as a whole was seen, its beginning stands for it.
        """
        scores: Floats = np.fmax.reduceat(self._scores, borders(spans))[::2]
        heads = self._heads[spans.first]
        if self._sums is None or self._meaning is None:
            return scores, heads
        inside = self._sums[spans.last + 1] - self._sums[spans.first]
        lengths = np.sqrt(np.einsum("ij,ij->i", inside, inside))
        seen = lengths > 1e-6
        cosines = (inside @ self._meaning.vector) / np.maximum(lengths, 1e-9)
        return np.where(seen, self._meaning.spread.place(cosines), scores), heads | seen
