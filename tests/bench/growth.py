"""How time and memory grow with the size of an index: nothing may grow much faster than the notes do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

from tests.bench import memory
from tests.bench.engine import OURS, asking
from tests.bench.indexed import Indexed
from tests.bench.timing import Way, at_most, in_turn, timed

#: 1 is in proportion to the notes, 2 is quadratic.
POWER = 1.4
QUESTIONS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One size."""

    chunks: int
    build_s: float
    search_ms: float
    unchanged_ms: float
    rss_mb: float
    index_mb: float


def measure(index: Indexed) -> Row:
    """The row of one index."""
    questions = index.asked.questions
    with asking(index) as ours:
        searches = in_turn([Way(OURS, ours.search)], questions[:QUESTIONS])
    facts = index.facts()
    return Row(
        chunks=facts["chunks"],
        build_s=index.built_s,
        search_ms=searches[OURS].p50,
        unchanged_ms=timed(lambda: index.daemon.sync("main")),
        rss_mb=sum(taken.rss for taken in memory.measure(index).values()),
        index_mb=facts["sizeBytes"] / 2**20,
    )


def report(rows: Sequence[Row]) -> bool:
    """Print the table and say whether anything grew too fast from the middle row to the last."""
    names = [field.name for field in fields(Row)]
    print("growth: a search is the p50 of whole questions, memory is of daemon and worker together")
    print("  " + "".join(f"{name.replace('_', ' '):>14}" for name in names))
    for row in rows:
        print("  " + "".join(f"{getattr(row, name):>14,.{0 if name == 'chunks' else 1}f}" for name in names))
    middle, last = rows[len(rows) // 2], rows[-1]
    met = True
    if last.chunks > middle.chunks:
        for name in names[1:]:
            power = _power(middle, last, name)
            met = at_most(f"{name.replace('_', ' ')} grows as chunks to the power", power, POWER, "") and met
    print(flush=True)
    return met


def _power(small: Row, large: Row, name: str) -> float:
    grown: float = getattr(large, name) / getattr(small, name)
    return math.log(grown) / math.log(large.chunks / small.chunks)
