"""The vector leg: every vector of an index as one float32 matrix, kept fresh by what is new, and an exact product."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from backends.builtin.meta import DamagedError
from backends.builtin.reader import Lease
from backends.builtin.schema import fetch
from backends.embedding import Vectors

Numbers = npt.NDArray[np.int64]
_NOTHING = ((-1, -1), -1, -1)


@dataclass(frozen=True, slots=True)
class Matrix:
    """Unit rows (n x dims) and the numbers of their chunks (n), sorted by number; never changed once made."""

    numbers: Numbers
    rows: Vectors

    def nearest(self, query: Vectors, limit: int, allowed: Numbers | None) -> list[tuple[int, float]]:
        """The chunks with the highest cosine, best first, ties by number."""
        if not len(self.numbers) or self.rows.shape[1] != len(query):
            return []
        cosines = self.rows @ query
        if allowed is not None:
            cosines = np.where(np.isin(self.numbers, allowed), cosines, -2.0)
        limit = min(limit, len(cosines))
        top = np.argpartition(cosines, len(cosines) - limit)[-limit:]
        top = top[np.lexsort((self.numbers[top], -cosines[top]))]
        return [(int(self.numbers[at]), float(cosines[at])) for at in top if cosines[at] > -2.0]

    def cosines(self, query: Vectors, numbers: Sequence[int]) -> dict[int, float]:
        """The cosines of given chunks, without those that have no vector yet."""
        if not len(self.numbers) or self.rows.shape[1] != len(query) or not numbers:
            return {}
        wanted = np.asarray(numbers, dtype=np.int64)
        places = np.minimum(np.searchsorted(self.numbers, wanted), len(self.numbers) - 1)
        present = self.numbers[places] == wanted
        values = self.rows[places[present]] @ query
        return dict(zip(wanted[present].tolist(), values.tolist(), strict=True))


class VectorCache:
    """The matrix of one index for the generation that a lease sees. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key: tuple[tuple[int, int], int, int] = _NOTHING
        self._stamp = 0
        self._matrix: Matrix | None = None

    def matrix(self, lease: Lease) -> Matrix:
        """The matrix, loaded whole the first time and after a change of model, by its new rows otherwise."""
        key = lease.facts.file, lease.facts.epoch, lease.facts.generation
        with self._lock:
            if self._matrix is None or key[:2] != self._key[:2] or key[2] < self._key[2]:
                self._matrix, self._stamp = None, 0
            if self._matrix is None or key != self._key:
                self._matrix = self._refreshed(lease)
                self._key = key
            return self._matrix

    def drop(self) -> None:
        """Forget everything: the memory goes back."""
        with self._lock:
            self._matrix, self._key, self._stamp = None, _NOTHING, 0

    def _refreshed(self, lease: Lease) -> Matrix:
        fresh = fetch(
            lease.connection,
            "SELECT number, embedding, stamp FROM chunks WHERE stamp > ? ORDER BY number",
            (self._stamp,),
        )
        old = self._matrix
        if old is not None:
            old = _without_dead(old, lease)
        self._stamp = max((stamp for _, _, stamp in fresh), default=self._stamp)
        new = _matrix(fresh, (lease.facts.embedding or {}).get("dims", 0))
        return new if old is None else _merged(old, new)


def _matrix(rows: list[tuple[Any, ...]], dims: int) -> Matrix:
    numbers = np.fromiter((number for number, _, _ in rows), dtype=np.int64, count=len(rows))
    # Joined once: an array per blob would cost more than the load itself. Copied, since numpy aligns its own memory.
    data = b"".join(blob for _, blob, _ in rows)
    if len(data) != len(rows) * dims * 4:
        raise DamagedError("chunks.embedding")
    block = np.frombuffer(data, dtype="<f4")
    return Matrix(numbers, block.reshape(len(rows), dims).astype(np.float32, copy=True))


def _without_dead(old: Matrix, lease: Lease) -> Matrix:
    alive = np.fromiter((n for (n,) in lease.connection.execute("SELECT number FROM chunks WHERE stamp > 0")), np.int64)
    keep = np.isin(old.numbers, alive)
    return old if keep.all() else Matrix(old.numbers[keep], old.rows[keep])


def _merged(old: Matrix, new: Matrix) -> Matrix:
    if not len(new.numbers):
        return old
    if not len(old.numbers):
        return new
    numbers, rows = np.concatenate([old.numbers, new.numbers]), np.concatenate([old.rows, new.rows])
    if new.numbers[0] < old.numbers[-1]:
        order = np.argsort(numbers)
        numbers, rows = numbers[order], rows[order]
    return Matrix(numbers, rows)
