"""From the candidates of two legs to places in files, for `backends.passages` to cut and score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from backends.builtin.reader import Lease
from backends.builtin.schema import fetch
from backends.corpus import Corpus, Located, Owners
from backends.passages import Candidate
from backends.relevance import Spread
from backends.text.tokens import Term

# The customary constant of reciprocal rank fusion. It only chooses candidates; scores are relevance.
_RANK_OFFSET = 60
#: Paths that are remembered for an agent: some megabytes at most.
MAX_KNOWN_PLACES = 20_000


def fused(legs: Iterable[Sequence[int]], limit: int) -> list[int]:
    """Chunk numbers by reciprocal rank over the legs, at most `limit`, ties by number."""
    points: dict[int, float] = {}
    for leg in legs:
        for rank, number in enumerate(leg):
            points[number] = points.get(number, 0.0) + 1 / (_RANK_OFFSET + rank)
    return sorted(points, key=lambda number: (-points[number], number))[:limit]


class Places:
    """Indexed paths as places in the corpus, remembered. None for paths of roots that the agent no longer has."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._roots = {root.name: root for root in corpus.roots}
        self._known: dict[str, Located | None] = {}

    def of(self, lease: Lease, paths: Iterable[str]) -> dict[str, Located | None]:
        """The place of each path."""
        unknown = [path for path in paths if path not in self._known]
        if unknown:
            if len(self._known) > MAX_KNOWN_PLACES:
                self._known = {}
            self._known |= self._looked_up(lease, unknown)
        return self._known

    def _looked_up(self, lease: Lease, paths: list[str]) -> dict[str, Located | None]:
        marks = ",".join("?" * len(paths))
        sql = f"SELECT path, root, relative FROM files WHERE path IN ({marks})"  # noqa: S608 - only question marks
        rows = lease.connection.execute(sql, paths)
        # The index may be older than the roots: what was a note when it was indexed may be a conversation since then.
        owners = Owners(self._corpus)
        found = {
            path: owners.of(Located(self._roots[name], relative))
            for path, name, relative in rows
            if name in self._roots
        }
        return dict.fromkeys(paths) | found


def located(
    lease: Lease, places: Places, numbers: Sequence[int], cosines: Mapping[int, float], spread: Spread
) -> list[Candidate]:
    """Where the chunks stand, in the order given. Chunks of roots that the agent no longer has are left out."""
    marks = ",".join("?" * len(numbers))
    sql = f"SELECT number, path, start_line, end_line, text FROM chunks WHERE number IN ({marks})"  # noqa: S608
    rows = {row[0]: row for row in fetch(lease.connection, sql, tuple(numbers))}
    known = places.of(lease, (row[1] for row in rows.values()))
    seen = [number for number in numbers if number in cosines]
    placed = spread.place(np.array([cosines[number] for number in seen], np.float32))
    scores = dict(zip(seen, placed.tolist(), strict=True))
    candidates = []
    for number in numbers:
        row = rows.get(number)
        place = known.get(row[1]) if row is not None else None
        if row is not None and place is not None:
            score = scores.get(number)
            candidates.append(
                Candidate(located=place, start_line=row[2], end_line=row[3], vector_score=score, preview=row[4])
            )
    return candidates


def warm(lease: Lease, terms: Iterable[Term]) -> None:
    """Look the frequencies up while the lease is at hand, so that scoring finds them known."""
    for term in terms:
        for key in term.keys:
            lease.frequency(key)
