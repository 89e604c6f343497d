"""What a search costs while another agent's whole index is built."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.bench.conversation import corpus
from tests.bench.daemons import place
from tests.bench.engine import OURS, asking
from tests.bench.indexed import SECOND, Indexed
from tests.bench.peers import PRODUCT, Product, vectors_of
from tests.bench.timing import Timed, Way, at_most, in_turn
from tests.running import until

SLOWER = 2.0
#: Notes of the other agent: a build of some seconds, files first and vectors after.
BUILT = 5000
#: Questions come as from a busy agent, spread over the build, and not as fast as they are answered.
PAUSE_S = 0.02


@dataclass(frozen=True, slots=True)
class Beside:
    """The same ways in a quiet daemon and beside a build, and how many answers came without vectors meanwhile."""

    quiet: Mapping[str, Timed]
    busy: Mapping[str, Timed]
    without_vectors: int


def measure(index: Indexed, *, built: int = BUILT, quiet: int = 100) -> Beside:
    """Ask in quiet, then for as long as the build of `built` notes lasts."""
    questions = index.asked.questions
    place(corpus(built, questions=1), index.second_workspace)
    product = Product(index.file, vectors_of(questions))
    with asking(index) as ours:
        ways = [Way(OURS, ours.search), Way(PRODUCT, product.search)]
        before = in_turn(ways, _paced(itertools.islice(itertools.cycle(questions), quiet)))
        already = ours.without_vectors
        index.daemon.call("POST", f"/v1/agents/{SECOND}/sync", {"wait": False})
        until(lambda: _building(index), what="the build")
        during = in_turn(ways, _paced(_while_building(index)))
    return Beside(before, during, ours.without_vectors - already)


def _paced(questions: Iterator[str]) -> Iterator[str]:
    for question in questions:
        time.sleep(PAUSE_S)
        yield question


def _while_building(index: Indexed) -> Iterator[str]:
    return itertools.takewhile(lambda _: _building(index), itertools.cycle(index.asked.questions))


def _building(index: Indexed) -> bool:
    return bool(index.facts(SECOND).get("syncing"))


def report(beside: Beside) -> bool:
    """Print both states and say whether the target was met."""
    print("beside: the same index while another is built")
    for times, state in ((beside.quiet, "quiet"), (beside.busy, "beside a build")):
        print(f"    {state}")
        for way in times.values():
            print(way.row())
    slower = {name: beside.busy[name].p50 / beside.quiet[name].p50 for name in beside.busy}
    print(f"       {PRODUCT}: {slower[PRODUCT]:.2f} times its quiet p50, which is what the machine does to anybody")
    print(f"       answers without vectors: {beside.without_vectors}")
    met = at_most("p50 beside a build", slower[OURS], SLOWER, "times the quiet one")
    print(flush=True)
    return met
