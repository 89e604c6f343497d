"""Whether a figure grew: least squares over its samples, held against medians that a few outliers cannot move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import linear_regression, median


@dataclass(frozen=True, slots=True)
class Trend:
    """How a figure moved: its slope, by how much the line and the medians of its ends rose, and its extremes."""

    per_minute: float
    by_line: float
    by_medians: float
    least: float
    most: float

    @classmethod
    def of(cls, times_s: Sequence[float], values: Sequence[float]) -> Trend:
        """The trend of at least three samples."""
        slope = linear_regression(times_s, values).slope
        third = len(values) // 3
        rise = median(values[-third:]) - median(values[:third])
        return cls(slope * 60, slope * (times_s[-1] - times_s[0]), rise, min(values), max(values))

    def grew(self, room: float) -> bool:
        """Whether it rose by more than `room`, however one looks: one peak tilts a line, and a step moves medians."""
        return min(self.by_line, self.by_medians) > room
