"""What the vectors of an index know about places in files, and so about every window of lines there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from backends.passages.windows import Flags, Sheet, Spans, borders
from backends.relevance import Floats


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a file (1-based, inclusive) with their relevance for the vector leg in 0..1; None was not seen."""

    first: int
    last: int
    vector_score: float | None = None


class SheetMeaning:
    """The vector part of every window of a sheet: that of the best place it lies in."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._scores = np.full(len(sheet.lines) + 1, np.nan, np.float32)
        self._heads = np.zeros(len(sheet.lines), bool)

    def lay(self, row: int, place: Place) -> None:
        """Say what is known of a place whose first line is row `row`."""
        if place.vector_score is None:
            return
        rows = self._scores[row : row + place.last - place.first + 1]
        np.fmax(rows, np.float32(place.vector_score), out=rows)
        self._heads[self._sheet.next_filled(row)] = True

    def of(self, spans: Spans) -> tuple[Floats, Flags]:
        """The vector parts (k) in 0..1, NaN where nothing is known, and which windows may be shown for them alone.

        The beginning of a place stands for all of it.
        """
        scores: Floats = np.fmax.reduceat(self._scores, borders(spans))[::2]
        return scores, self._heads[spans.first]
