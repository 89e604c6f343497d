"""Numbers that grow."""

from __future__ import annotations

from math import inf

from sidecar.metrics.tally import Histogram


def test_a_histogram_counts_up_to_each_bound_and_adds_up() -> None:
    """A value on a bound belongs below it, and one beyond all bounds to the last bucket alone."""
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 9.0):
        histogram.observe(value, "a")
    ((labels, spread),) = histogram.rows()
    assert labels == ("a",)
    assert spread.buckets == ((1.0, 2), (2.0, 3), (inf, 4))
    assert spread.total == 12.0


def test_labels_are_counted_apart() -> None:
    """One row for each."""
    histogram = Histogram((1.0,))
    histogram.observe(0.1, "a")
    histogram.observe(0.1, "b")
    assert [labels for labels, _ in histogram.rows()] == [("a",), ("b",)]
