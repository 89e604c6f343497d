"""From the candidates of two legs to places in files, for `backends.passages` to cut and score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from backends.builtin.reader import Lease
from backends.builtin.schema import fetch
from backends.corpus import Corpus, Located
from backends.passages import Candidate
from backends.relevance import Spread
from backends.tokens import Term

# The customary constant of reciprocal rank fusion. It only chooses candidates; scores are relevance.
_RANK_OFFSET = 60


def fused(legs: Iterable[Sequence[int]], limit: int) -> list[int]:
    """Chunk numbers by reciprocal rank over the legs, at most `limit`, ties by number."""
    points: dict[int, float] = {}
    for leg in legs:
        for rank, number in enumerate(leg):
            points[number] = points.get(number, 0.0) + 1 / (_RANK_OFFSET + rank)
    return sorted(points, key=lambda number: (-points[number], number))[:limit]


def located(
    lease: Lease, corpus: Corpus, numbers: Sequence[int], cosines: Mapping[int, float], spread: Spread
) -> list[Candidate]:
    """Where the chunks stand, in the order given. Chunks of roots that the agent no longer has are left out."""
    marks = ",".join("?" * len(numbers))
    sql = (
        "SELECT number, root, relative, start_line, end_line, text"  # noqa: S608 - only question marks
        f" FROM chunks JOIN files USING (path) WHERE number IN ({marks})"
    )
    order = {number: at for at, number in enumerate(numbers)}
    rows = sorted(fetch(lease.connection, sql, tuple(numbers)), key=lambda row: order[row[0]])
    candidates = []
    for number, name, relative, start_line, end_line, text in rows:
        root = corpus.root(name)
        if root is not None:
            score = spread.place(cosines[number]) if number in cosines else None
            candidates.append(
                Candidate(
                    located=Located(root, relative),
                    start_line=start_line,
                    end_line=end_line,
                    vector_score=score,
                    preview=text,
                )
            )
    return candidates


def warm(lease: Lease, terms: Iterable[Term]) -> None:
    """Look the frequencies up while the lease is at hand, so that scoring finds them known."""
    for term in terms:
        for key in term.keys:
            lease.frequency(key)
