"""Numbers that grow as things happen. Written on the event loop; reading them from a thread sees each row whole."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate


@dataclass(slots=True)
class _Row:
    buckets: list[int]
    total: float = 0.0


@dataclass(frozen=True, slots=True)
class Spread:
    """One row of a histogram: `buckets` are `(upper bound, how many up to it)`, the last one's bound is infinite."""

    buckets: tuple[tuple[float, int], ...]
    total: float


@dataclass(slots=True)
class Histogram:
    """How often a value lay where, by labels. `bounds` are the upper ends of its buckets, rising."""

    bounds: Sequence[float]
    _rows: dict[tuple[str, ...], _Row] = field(default_factory=dict)

    def observe(self, value: float, *labels: str) -> None:
        """Count one value."""
        row = self._rows.get(labels)
        if row is None:
            row = self._rows[labels] = _Row([0] * (len(self.bounds) + 1))
        row.buckets[bisect_left(self.bounds, value)] += 1
        row.total += value

    def rows(self) -> Iterator[tuple[tuple[str, ...], Spread]]:
        """Every row by its labels."""
        ends = (*self.bounds, float("inf"))
        for labels, row in list(self._rows.items()):
            yield labels, Spread(tuple(zip(ends, accumulate(row.buckets), strict=True)), row.total)
