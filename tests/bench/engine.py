"""How fast a hybrid search through the socket is at a size, against the parts that one would build it from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.bench.daemons import warmed_up
from tests.bench.indexed import Indexed
from tests.bench.peers import PRODUCT, VEC0, WORDS, Product, tables, vectors_of
from tests.bench.timing import Timed, Way, at_most, in_turn, verdict

OURS, INSIDE = "hybrid search through the socket", "  of which behind the gateway"
P50_MS = {1000: 3.0, 10_000: 5.0, 100_000: 20.0}


@dataclass
class Asking:
    """Asks a daemon, and notes what it says of its own time, and how many answers came without vectors."""

    ask: Callable[[str], dict[str, Any]]
    inside: Timed = field(default_factory=lambda: Timed(INSIDE))
    without_vectors: int = 0

    def search(self, question: str) -> dict[str, Any]:
        """One search."""
        reply = self.ask(question)
        self.inside.took_ms.append(reply["tookMs"])
        self.without_vectors += reply["provider"] is None
        return reply


@contextmanager
def asking(index: Indexed) -> Iterator[Asking]:
    """The daemon of an index, connected and warm."""
    with warmed_up(index.daemon, "builtin", index.asked.questions[0]) as ask:
        yield Asking(ask)


@dataclass(frozen=True, slots=True)
class Searched:
    """The times of all ways at one size; `inside` is the part of ours that the daemon tells (`tookMs`)."""

    chunks: int
    times: Mapping[str, Timed]
    inside: Timed
    without_vectors: int


def measure(index: Indexed) -> Searched:
    """Ask the daemon and its peers in turn."""
    questions = index.asked.questions
    asked = vectors_of(questions)
    product = Product(index.file, asked)
    with tables(index.file, asked) as others, asking(index) as ours:
        ways = [Way(OURS, ours.search), Way(VEC0, others.vec0), Way(PRODUCT, product.search), Way(WORDS, others.words)]
        times = in_turn(ways, questions)
    return Searched(index.facts()["chunks"], times, ours.inside, ours.without_vectors)


def report(size: int, searched: Searched) -> bool:
    """Print the table of one size and say whether the targets were met."""
    print(f"search: {searched.chunks:,} chunks, whole questions, the engine with words and vectors")
    ours = searched.times[OURS]
    for way in (ours, searched.inside, *(way for way in searched.times.values() if way is not ours)):
        print(way.row())
    ratios = (f"{ours.p50 / way.p50:.2f} times {way.name}" for way in searched.times.values() if way is not ours)
    print(f"       p50 is {', '.join(ratios)}; the gateway takes {ours.p50 - searched.inside.p50:.2f} ms")
    lacking = searched.without_vectors
    met = verdict(f"{lacking} answers had to do without vectors", "none", lacking == 0)
    if size in P50_MS:
        met = at_most("p50", ours.p50, P50_MS[size], "ms") and met
    print(flush=True)
    return met
