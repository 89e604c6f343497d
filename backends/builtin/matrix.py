"""The vectors of an index in memory as one search sees them, and the chunks nearest to its question.

Vectors that are too many are held rounded to bytes, a quarter of the memory: they choose candidates, whose vectors are
then read from the index, so that cosines and their order are exact all the same. Rounded to bytes, all dimensions keep
more of the order than a projection to a quarter of them does: of real texts, a projection needs hundreds of times as
many candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import apsw
import numpy as np
import orjson

from backends.builtin.blocks import Numbers, Rows
from backends.builtin.meta import DamagedError
from backends.embedding import Vectors

#: So many times the wanted chunks are candidates. 1.25 times hold the true ones among 170,000 passages of real texts;
#: more, since many notes may be nearly the same.
_OVERSAMPLING = 4


class Matrix(Protocol):
    """The vectors of an index as one lease sees it. A question that no vector can be compared with has no answers."""

    def nearest(self, query: Vectors, limit: int, allowed: Numbers | None) -> list[tuple[int, float]]:
        """The chunks with the highest cosine, best first, ties by number."""
        ...

    def cosines(self, query: Vectors, numbers: Sequence[int]) -> dict[int, float]:
        """The cosines of given chunks, without those that have no vector yet."""
        ...


@dataclass(frozen=True, slots=True)
class Exact:
    """All vectors in memory. Never changes."""

    rows: Rows

    def nearest(self, query: Vectors, limit: int, allowed: Numbers | None) -> list[tuple[int, float]]:
        """See `Matrix`."""
        if not _has_meaning(query, self.rows.dims):
            return []
        return _ranked(*_best(*self.rows.products(query, allowed), limit))

    def cosines(self, query: Vectors, numbers: Sequence[int]) -> dict[int, float]:
        """See `Matrix`."""
        if not _has_meaning(query, self.rows.dims):
            return {}
        found, cosines = self.rows.products(query, np.asarray(numbers, dtype=np.int64))
        return dict(zip(found.tolist(), cosines.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Prefilter:
    """Rounded vectors in memory, and a connection that reads the exact ones. Usable as long as its lease."""

    rows: Rows
    connection: apsw.Connection

    def nearest(self, query: Vectors, limit: int, allowed: Numbers | None) -> list[tuple[int, float]]:
        """See `Matrix`. What is not allowed takes no candidate's place."""
        if not _has_meaning(query, self.rows.dims):
            return []
        candidates = allowed
        if allowed is None or len(allowed) > _OVERSAMPLING * limit:
            candidates, _ = _best(*self.rows.products(query, allowed), _OVERSAMPLING * limit)
        assert candidates is not None
        return _ranked(*_best(*self._exact(query, candidates), limit))

    def cosines(self, query: Vectors, numbers: Sequence[int]) -> dict[int, float]:
        """See `Matrix`."""
        if not _has_meaning(query, self.rows.dims):
            return {}
        found, cosines = self._exact(query, np.asarray(numbers, dtype=np.int64))
        return dict(zip(found.tolist(), cosines.tolist(), strict=True))

    def _exact(self, query: Vectors, numbers: Numbers) -> tuple[Numbers, Vectors]:
        stored = self.connection.execute(
            "SELECT number, embedding FROM chunks WHERE stamp > 0 AND number IN (SELECT value FROM json_each(?))",
            (orjson.dumps(numbers.tolist()).decode(),),
        )
        found, rows = decoded(list(stored), self.rows.dims)
        return found, rows @ query


def decoded(stored: list[tuple[Any, ...]], dims: int) -> tuple[Numbers, Vectors]:
    """Numbers (n) and vectors (n x dims) as they are stored. Raises `DamagedError` for what is no vector."""
    numbers = np.fromiter((number for number, _ in stored), dtype=np.int64, count=len(stored))
    if stored and not (dims > 0 and all(isinstance(blob, bytes) and len(blob) == 4 * dims for _, blob in stored)):
        raise DamagedError("chunks.embedding")
    rows = np.frombuffer(b"".join(blob for _, blob in stored), dtype="<f4").reshape(len(stored), dims)
    if not np.isfinite(rows).all():
        raise DamagedError("chunks.embedding")
    return numbers, rows.astype(np.float32, copy=False)


def _has_meaning(query: Vectors, dims: int) -> bool:
    """Whether cosines with a question say anything: not those of a zero vector, nor of another dimension."""
    return query.shape == (dims,) and bool(np.isfinite(query).all()) and bool(query.any())


def _best(numbers: Numbers, cosines: Vectors, limit: int) -> tuple[Numbers, Vectors]:
    """The highest cosines with their numbers, in no order."""
    if len(cosines) <= limit:
        return numbers, cosines
    top = np.argpartition(cosines, len(cosines) - limit)[-limit:]
    return numbers[top], cosines[top]


def _ranked(numbers: Numbers, cosines: Vectors) -> list[tuple[int, float]]:
    order = np.lexsort((numbers, -cosines))
    return list(zip(numbers[order].tolist(), cosines[order].tolist(), strict=True))
