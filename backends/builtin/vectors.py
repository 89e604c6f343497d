"""Keeping the vectors of an index in memory: loaded once, in blocks, and then kept fresh by what is new."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from typing import Any

import apsw
import numpy as np

from backends.builtin.blocks import BLOCK_ROWS, Bytes, Floats, Numbers, Rows
from backends.builtin.matrix import Exact, Matrix, Prefilter, decoded
from backends.builtin.reader import Lease

#: Up to so many vectors are held as they are, 123 MB of 256 dimensions; more are held rounded.
EXACT_ROWS = 120_000
_NOTHING = ((-1, -1), -1, -1)


class VectorCache:
    """The matrix of one index for the generation that a lease sees. Thread-safe."""

    def __init__(self, exact_rows: int = EXACT_ROWS) -> None:
        self._exact_rows = exact_rows
        self._lock = threading.Lock()
        self._key: tuple[tuple[int, int], int, int] = _NOTHING
        self._refreshed_at = 0.0
        self._stamp = 0
        self._rows: Rows | None = None

    def matrix(self, lease: Lease) -> Matrix:
        """The matrix, loaded whole the first time and after a change of model, by its new rows otherwise.

        Raises `DamagedError` for what cannot be a vector of the index.
        """
        with self._lock:
            overtaken = self._is_overtaken(lease)
            if not overtaken:
                self._follow(lease)
            rows = self._rows
        assert rows is not None
        if overtaken:
            rows = rows.only(_living(lease.connection))
        return Exact(rows) if rows.form is Floats else Prefilter(rows, lease.connection)

    def drop(self) -> None:
        """Forget everything: the memory goes back."""
        with self._lock:
            self._forget()

    def _is_overtaken(self, lease: Lease) -> bool:
        """Whether a lease that began later refreshed already. Otherwise an older generation is another history."""
        facts = lease.facts
        same = (facts.file, facts.epoch) == self._key[:2]
        return same and facts.generation < self._key[2] and lease.begun_at < self._refreshed_at

    def _follow(self, lease: Lease) -> None:
        key = lease.facts.file, lease.facts.epoch, lease.facts.generation
        if key[:2] != self._key[:2] or key[2] < self._key[2] or self._is_outgrown(lease):
            self._forget()
        if key != self._key:
            self._refresh(lease)
            self._key, self._refreshed_at = key, time.monotonic()

    def _forget(self) -> None:
        self._rows, self._key, self._stamp = None, _NOTHING, 0

    def _is_outgrown(self, lease: Lease) -> bool:
        return self._rows is not None and self._rows.form is Floats and lease.facts.vectors > self._exact_rows

    def _refresh(self, lease: Lease) -> None:
        rows, stamp = self._empty(lease) if self._rows is None else self._rows, self._stamp
        for fresh in _newer(lease.connection, stamp):
            rows = rows.added(*decoded([row[:2] for row in fresh], rows.dims))
            stamp = max(stamp, *(row[2] for row in fresh))
        if len(rows.numbers) != lease.facts.vectors:
            rows = rows.only(_living(lease.connection))
        self._rows, self._stamp = rows, stamp
        del rows
        self._give_back()

    def _empty(self, lease: Lease) -> Rows:
        dims = (lease.facts.embedding or {}).get("dims", 0)
        return Rows.empty(Floats if lease.facts.vectors <= self._exact_rows else Bytes, dims)

    def _give_back(self) -> None:
        # Nobody else may hold the state before: a block that was left goes before the next one is moved.
        while self._rows is not None and (sparse := self._rows.sparse_block()) is not None:
            self._rows = self._rows.without_block(sparse)


def _newer(connection: apsw.Connection, stamp: int) -> Iterator[list[tuple[Any, ...]]]:
    """Numbers, vectors and stamps of what came after a stamp, a block at a time."""
    rows = connection.execute("SELECT number, embedding, stamp FROM chunks WHERE stamp > ?", (stamp,))
    while batch := list(itertools.islice(rows, BLOCK_ROWS)):
        yield batch


def _living(connection: apsw.Connection) -> Numbers:
    rows = connection.execute("SELECT number FROM chunks WHERE stamp > 0")
    return np.fromiter((number for (number,) in rows), dtype=np.int64)
