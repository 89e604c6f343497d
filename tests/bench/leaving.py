"""What a search pays for being guarded: scope, limits and citations together, beside a loop that only copies hits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from backends.base import Answer, Hit, Mode
from backends.corpus import Kind
from scope import DEFAULT_POLICY, decide
from sidecar.config import Memory
from sidecar.tools.citations import cites
from sidecar.tools.replies import reply
from tests.bench.timing import Timed, at_most, timed

#: The usual number of results, and the most that a caller may ask for.
HITS = (6, 50)
TOOK_MS = 0.3
TIMES = 3000
_KEY = "agent:main:telegram:direct:123456789"
_MEMORY = Memory.model_validate({"citations": "on", "qmd": {"limits": {"maxInjectedChars": 100_000}}})


@dataclass(frozen=True, slots=True)
class Left:
    """The times of both ways for so many hits."""

    hits: int
    guarded: Timed
    bare: Timed

    @property
    def ratio(self) -> float:
        """How many times as long the guarded way takes."""
        return self.guarded.p50 / self.bare.p50


def answer_of(hits: int) -> Answer:
    """An answer with hits of the usual length."""
    found = tuple(
        Hit(
            root="memory-dir",
            relative=f"{number}.md",
            path=f"memory/{number}.md",
            kind=Kind.DAILY,
            trusted=True,
            start_line=3,
            end_line=9,
            snippet="The boat leaves at nine. " * 28,
            score=0.9,
            text_score=0.8,
            vector_score=0.7,
        )
        for number in range(hits)
    )
    return Answer(hits=found, engine="builtin", via="index", mode=Mode.SEARCH)


def guarded(answer: Answer) -> dict[str, Any]:
    """What stands between an engine's answer and the caller."""
    decision = decide(DEFAULT_POLICY, agent_id="main", session_key=_KEY)
    return reply(answer, _MEMORY, cite=cites(_MEMORY, decision), notices=(), provider=None)


def bare(answer: Answer) -> list[dict[str, Any]]:
    """The hits in a reply's spelling, unguarded."""
    return [
        {
            "path": hit.path,
            "startLine": hit.start_line,
            "endLine": hit.end_line,
            "score": hit.score,
            "snippet": hit.snippet,
        }
        for hit in answer.hits
    ]


def measure(hits: int, times: int = TIMES) -> Left:
    """Both ways in turn."""
    answer = answer_of(hits)
    left = Left(hits, Timed(f"scope, limits, citations: {hits} hits"), Timed(f"  a bare loop over {hits} hits"))
    for _ in range(times):
        left.guarded.took_ms.append(timed(lambda: guarded(answer)))
        left.bare.took_ms.append(timed(lambda: bare(answer)))
    return left


def report(left: Left) -> bool:
    """Print the figures and say whether the target was met."""
    print(left.guarded.row())
    print(left.bare.row())
    print(f"  {left.ratio:.1f} times the bare loop")
    return at_most(f"median for {left.hits} hits", left.guarded.p50, TOOK_MS, "ms")


def run() -> bool:
    """Measure and print."""
    print("leaving: what guards the way out of a search")
    met = [report(measure(hits)) for hits in HITS]
    print(flush=True)
    return all(met)
