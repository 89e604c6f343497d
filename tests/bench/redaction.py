"""How fast secrets are found, in what people write and in what was made to be slow."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from exporter import Redactor
from tests.bench.timing import at_least, at_most
from tests.exporter.redaction_inputs import clean, hostile, of_secrets, ordinary

#: Characters of a message, which is what the exporter redacts at once.
MESSAGE = 4_000
SIZE = 4_000_000
HOSTILE_SIZE = 1_000_000
#: Megabytes a second on one core, whatever the text.
RATE = 20.0
#: Times that a text of twice the size may take.
GROWTH = 2.5
#: Texts made to be slow that are named.
NAMED = 10


@dataclass(frozen=True, slots=True)
class Rates:
    """Megabytes for each second of one core; `slow` with what each text repeats, the slowest first."""

    clean: float
    ordinary: float
    dense: float
    slow: Sequence[tuple[float, str]]
    growth: tuple[float, str]
    """How many times as long the worst of these texts takes when it is twice as long."""


def measure(size: int = SIZE, hostile_size: int = HOSTILE_SIZE) -> Rates:
    """Redact messages without secrets, with some and with many, and long texts that repeat one thing."""
    redactor = Redactor()
    redactor.redact(ordinary(10_000))
    clean_, some, many = (
        _rate(redactor, _messages(text)) for text in (clean(size), ordinary(size), ordinary(size, turns_each=1))
    )
    texts = {repr(piece): text for piece, text in [*hostile(hostile_size), *of_secrets(hostile_size)]}
    slow = sorted((_rate(redactor, [text], 1), piece) for piece, text in texts.items())
    growth = max((_growth(redactor, texts[piece]), piece) for _, piece in slow[:NAMED])
    return Rates(clean_, some, many, slow, growth)


def _growth(redactor: Redactor, text: str) -> float:
    """How many times as long the text takes twice."""
    return 2 * _rate(redactor, [text]) / _rate(redactor, [text * 2])


def _messages(text: str) -> Sequence[str]:
    return [text[start : start + MESSAGE] for start in range(0, len(text), MESSAGE)]


def _rate(redactor: Redactor, texts: Sequence[str], times_each: int = 3) -> float:
    """The best of several times, for the machine has other work."""
    size = sum(len(text.encode()) for text in texts)
    times = []
    for _ in range(times_each):
        started = time.process_time()
        for text in texts:
            redactor.redact(text)
        times.append(time.process_time() - started)
    return size / 1e6 / min(times)


def report(found: Rates) -> bool:
    """Print the figures and say whether the targets were met."""
    print("redaction: megabytes a second on one core")
    slow = sum(rate < RATE for rate, _ in found.slow)
    print(f"  without secrets {found.clean:,.0f}; {slow} of {len(found.slow)} texts made to be slow miss the target")
    for rate, piece in found.slow[:NAMED]:
        print(f"  {rate:8.2f}  {piece}")
    met = [
        at_least("prose with some secrets", found.ordinary, RATE, "MB/s"),
        at_least("prose with a secret for each thousand letters", found.dense, RATE, "MB/s"),
        at_least("the slowest text", found.slow[0][0], RATE, "MB/s"),
        at_most(f"a text twice as long, {found.growth[1]}", found.growth[0], GROWTH, "times the time"),
    ]
    print(flush=True)
    return all(met)


def run() -> bool:
    """Measure and print."""
    return report(measure())
