"""Milliseconds: taking them, summing them up, and judging them against a target."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any


@dataclass
class Timed:
    """Milliseconds of one way of searching."""

    name: str
    took_ms: list[float] = field(default_factory=list)

    @property
    def p50(self) -> float:
        """The median."""
        return statistics.median(self.took_ms)

    def row(self) -> str:
        """One line of the table."""
        ordered = sorted(self.took_ms)
        p95 = ordered[int(len(ordered) * 0.95)]
        return f"  {self.name:<34} p50 {self.p50:8.2f} ms   p95 {p95:8.2f} ms   n {len(ordered)}"


@dataclass(frozen=True, slots=True)
class Way:
    """A way to put a question; a slow one is asked the first `most` questions only."""

    name: str
    ask: Callable[[str], Any]
    most: int = 1_000_000


def in_turn(ways: Sequence[Way], questions: Sequence[str]) -> Mapping[str, Timed]:
    """Put every question to every way. Who goes first rotates: the one after another finds its files in the cache."""
    times = {way.name: Timed(way.name) for way in ways}
    for number, question in enumerate(questions):
        first = number % len(ways)
        for way in (*ways[first:], *ways[:first]):
            if number < way.most:
                times[way.name].took_ms.append(timed(partial(way.ask, question)))
    return times


def timed(work: Callable[[], Any]) -> float:
    """Milliseconds that `work` takes."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def verdict(fact: str, target: str, met: bool) -> bool:
    """Print one target."""
    print(f"  {'ok  ' if met else 'MISS'} {fact} (target {target})")
    return met
