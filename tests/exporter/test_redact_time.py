"""Redaction takes time in proportion to the text, whatever stands in it."""

from __future__ import annotations

import time

import pytest

from exporter import Redactor
from tests.exporter.redaction_inputs import hostile

REDACTOR = Redactor()
SIZE = 6_000
GROWTH = 8
# Twice what is in proportion; what is quadratic takes eight times as much.
ALLOWED = 2 * GROWTH

pytestmark = pytest.mark.alone


def seconds(text: str) -> float:
    """Time of the processor for one text; the best of three, for the machine has other work."""
    times = []
    for _ in range(3):
        started = time.process_time()
        REDACTOR.redact(text)
        times.append(time.process_time() - started)
    return min(times)


@pytest.mark.parametrize("number", range(len([*hostile(100)])))
def test_a_text_eight_times_as_long_takes_about_eight_times_as_long(number: int) -> None:
    (piece, short), (_, long) = ([*hostile(size)][number] for size in (SIZE, SIZE * GROWTH))
    # What a short text takes at least keeps a figure near the clock's own grain from deciding.
    assert seconds(long) < ALLOWED * max(seconds(short), 0.001), piece
