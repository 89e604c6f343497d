"""How fast secrets are found, in what people write and in what was made to be slow."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from exporter import Redactor
from tests.bench.timing import at_least
from tests.exporter.redaction_inputs import clean, hostile, ordinary

#: Characters of a message, which is what the exporter redacts at once.
MESSAGE = 4_000
SIZE = 4_000_000
HOSTILE_SIZE = 300_000
#: Megabytes a second on one core.
ORDINARY_RATE = 20.0


@dataclass(frozen=True, slots=True)
class Rates:
    """Megabytes for each second of one core; `slowest` with what the text repeats."""

    clean: float
    ordinary: float
    slowest: tuple[float, str]


def measure(size: int = SIZE, hostile_size: int = HOSTILE_SIZE) -> Rates:
    """Redact messages without secrets, messages with some, and long lines of beginnings that never end."""
    redactor = Redactor()
    redactor.redact(ordinary(10_000))
    slowest = min((_rate(redactor, [text]), repr(piece)) for piece, text in hostile(hostile_size))
    return Rates(_rate(redactor, _messages(clean(size))), _rate(redactor, _messages(ordinary(size))), slowest)


def _messages(text: str) -> Sequence[str]:
    return [text[start : start + MESSAGE] for start in range(0, len(text), MESSAGE)]


def _rate(redactor: Redactor, texts: Sequence[str]) -> float:
    """The best of three, for the machine has other work."""
    size = sum(len(text.encode()) for text in texts)
    times = []
    for _ in range(3):
        started = time.process_time()
        for text in texts:
            redactor.redact(text)
        times.append(time.process_time() - started)
    return size / 1e6 / min(times)


def report(found: Rates) -> bool:
    """Print the figures and say whether the target was met."""
    print("redaction: megabytes a second on one core")
    print(f"  without secrets {found.clean:,.0f}, the slowest text {found.slowest[0]:.2f}: {found.slowest[1]}")
    met = at_least("prose with some secrets", found.ordinary, ORDINARY_RATE, "MB/s")
    print(flush=True)
    return met


def run() -> bool:
    """Measure and print."""
    return report(measure())
