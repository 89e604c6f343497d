"""Taking times, summing them up, and judging figures against a target."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
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
        return self.at(50)

    def at(self, percent: float) -> float:
        """The time that so many percent are faster than."""
        ordered = sorted(self.took_ms)
        return ordered[int(len(ordered) * percent / 100)]

    def row(self) -> str:
        """One line of the table."""
        figures = (f"p{percent} {self.at(percent):8.2f} ms" for percent in (50, 95, 99))
        return f"  {self.name:<34} {'   '.join(figures)}   n {len(self.took_ms)}"


@dataclass(frozen=True, slots=True)
class Way:
    """A way to put a question; a slow one is asked the first `most` questions only."""

    name: str
    ask: Callable[[str], Any]
    most: int = 1_000_000


def in_turn(ways: Sequence[Way], questions: Iterable[str]) -> Mapping[str, Timed]:
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


def at_most(what: str, value: float, limit: float, unit: str) -> bool:
    """Judge and print a figure that should be small."""
    return verdict(f"{what}: {value:,.2f} {unit}", f"at most {limit:,.2f} {unit}", value <= limit)


def at_least(what: str, value: float, limit: float, unit: str) -> bool:
    """Judge and print a figure that should be large."""
    return verdict(f"{what}: {value:,.0f} {unit}", f"at least {limit:,.0f} {unit}", value >= limit)
