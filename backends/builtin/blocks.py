"""Numbered vectors in blocks of memory: adding copies no row, and a reader keeps the state that it took.

A block is memory of its own that goes back to the system with its last reader. Neither could be said of one large
array: growing it would hold everything twice, and what it leaves stays with the allocator.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from backends.embedding import Vectors

Numbers: TypeAlias = npt.NDArray[np.int64]

#: Of 256 dimensions, 2 MB as floats. Pages that were never written take no memory.
BLOCK_ROWS = 2048
#: A block is given back when so much of it is dead, after its other rows were moved.
_DEAD_SHARE = 0.25
#: Where fewer than one row of so many is asked for, these are picked: fetching scattered rows costs more each.
_PICKED_SHARE = 8
_LARGEST_BYTE = 127


class Block(Protocol):
    """Up to `BLOCK_ROWS` rows, of which the first `used` are there and never change."""

    @property
    def used(self) -> int:
        """How many rows there are."""
        ...

    def added(self, rows: Vectors) -> Block:
        """The block with more rows, in the same memory. Only the newest state of a block may be added to."""
        ...

    def rows(self, at: Numbers) -> Vectors:
        """Some rows (len(at) x dims) as float32."""
        ...

    def products(self, query: Vectors, out: Vectors) -> None:
        """Put the product of every row (used) into `out`."""
        ...


@dataclass(frozen=True, slots=True)
class Floats:
    """Rows as they are, 4 bytes a dimension."""

    room: Vectors
    used: int = 0

    @classmethod
    def empty(cls, dims: int) -> Floats:
        """Room for `BLOCK_ROWS` rows."""
        return cls(np.frombuffer(_memory(4 * dims), dtype=np.float32).reshape(BLOCK_ROWS, dims))

    def added(self, rows: Vectors) -> Floats:
        """See `Block`."""
        end = self.used + len(rows)
        self.room[self.used : end] = rows
        return replace(self, used=end)

    def rows(self, at: Numbers) -> Vectors:
        """See `Block`."""
        return self.room[at]

    def products(self, query: Vectors, out: Vectors) -> None:
        """See `Block`."""
        np.dot(self.room[: self.used], query, out=out)


@dataclass(frozen=True, slots=True)
class Bytes:
    """Rows rounded to one byte a dimension, each by its own scale (BLOCK_ROWS), so that its largest value is 127."""

    room: npt.NDArray[np.int8]
    scales: Vectors
    used: int = 0

    @classmethod
    def empty(cls, dims: int) -> Bytes:
        """Room for `BLOCK_ROWS` rows."""
        room = np.frombuffer(_memory(dims), dtype=np.int8).reshape(BLOCK_ROWS, dims)
        return cls(room, np.empty(BLOCK_ROWS, dtype=np.float32))

    def added(self, rows: Vectors) -> Bytes:
        """See `Block`."""
        end = self.used + len(rows)
        scales = np.abs(rows).max(axis=1) / _LARGEST_BYTE
        self.scales[self.used : end] = scales
        # A zero row has no scale to be divided by.
        self.room[self.used : end] = np.rint(rows / np.where(scales > 0, scales, 1)[:, None])
        return replace(self, used=end)

    def rows(self, at: Numbers) -> Vectors:
        """See `Block`."""
        return self.room[at] * self.scales[at, None]

    def products(self, query: Vectors, out: Vectors) -> None:
        """See `Block`."""
        np.dot(self.room[: self.used].astype(np.float32), query, out=out)
        out *= self.scales[: self.used]


def _memory(row_bytes: int) -> mmap.mmap:
    return mmap.mmap(-1, BLOCK_ROWS * row_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows by number, one state of them: `numbers` (n), sorted, and where they lie, `places` (n), in `blocks`.

    States share blocks. Only the newest one may be added to.
    """

    form: type[Floats] | type[Bytes]
    dims: int
    numbers: Numbers
    places: Numbers
    blocks: tuple[Block, ...]

    @classmethod
    def empty(cls, form: type[Floats] | type[Bytes], dims: int) -> Rows:
        """No rows yet."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(form, dims, nothing, nothing, ())

    def added(self, numbers: Numbers, rows: Vectors) -> Rows:
        """With more rows (m x dims) of new numbers (m)."""
        blocks, places = list(self.blocks), np.empty(len(numbers), dtype=np.int64)
        done = 0
        while done < len(numbers):
            if not blocks or blocks[-1].used == BLOCK_ROWS:
                blocks.append(self.form.empty(self.dims))
            last = blocks[-1]
            end = min(len(numbers), done + BLOCK_ROWS - last.used)
            places[done:end] = np.arange(end - done) + (len(blocks) - 1) * BLOCK_ROWS + last.used
            blocks[-1] = last.added(rows[done:end])
            done = end
        numbers, places = np.concatenate([self.numbers, numbers]), np.concatenate([self.places, places])
        if (np.diff(numbers) < 0).any():
            order = np.argsort(numbers, kind="stable")
            numbers, places = numbers[order], places[order]
        return replace(self, numbers=numbers, places=places, blocks=tuple(blocks))

    def only(self, numbers: Numbers) -> Rows:
        """Without the rows of other numbers. Their memory stays until their blocks are left."""
        at = self.held(numbers)
        return replace(self, numbers=self.numbers[at], places=self.places[at])

    def sparse_block(self) -> int | None:
        """A block that should be left, None where all are well filled."""
        living = np.bincount(self.places // BLOCK_ROWS, minlength=len(self.blocks))
        used = np.fromiter((block.used for block in self.blocks), dtype=np.int64, count=len(self.blocks))
        sparse = np.flatnonzero(living < (1 - _DEAD_SHARE) * used)
        return int(sparse[0]) if len(sparse) else None

    def without_block(self, index: int) -> Rows:
        """The same rows, those of one block moved behind the others. At most one block is held twice meanwhile."""
        inside = self.places // BLOCK_ROWS == index
        numbers, rows = self.numbers[inside], self.blocks[index].rows(self.places[inside] % BLOCK_ROWS)
        places = self.places[~inside]
        places = np.where(places < index * BLOCK_ROWS, places, places - BLOCK_ROWS)
        blocks = self.blocks[:index] + self.blocks[index + 1 :]
        return replace(self, numbers=self.numbers[~inside], places=places, blocks=blocks).added(numbers, rows)

    def held(self, numbers: Numbers) -> Numbers:
        """Where in `numbers` those of the given ones stand that are there, in rising order."""
        if not len(self.numbers):
            return np.empty(0, dtype=np.int64)
        # Sorted ones are found much faster, each near the last.
        wanted = np.sort(numbers)
        at: Numbers = np.minimum(np.searchsorted(self.numbers, wanted), len(self.numbers) - 1)
        there: Numbers = at[self.numbers[at] == wanted]
        return there

    def products(self, query: Vectors, numbers: Numbers | None = None) -> tuple[Numbers, Vectors]:
        """The numbers (k) that are there, of all or of the given ones, and the products (k) of their rows."""
        if numbers is None:
            return self.numbers, self._all_products(query)[self.places]
        at = self.held(numbers)
        places = self.places[at]
        if len(at) * _PICKED_SHARE < len(self.numbers):
            return self.numbers[at], self._picked_products(query, places)
        return self.numbers[at], self._all_products(query)[places]

    def _all_products(self, query: Vectors) -> Vectors:
        """By place; where no row is, anything."""
        products = np.empty(len(self.blocks) * BLOCK_ROWS, dtype=np.float32)
        for index, block in enumerate(self.blocks):
            begin = index * BLOCK_ROWS
            block.products(query, products[begin : begin + block.used])
        return products

    def _picked_products(self, query: Vectors, places: Numbers) -> Vectors:
        products = np.empty(len(places), dtype=np.float32)
        owners = places // BLOCK_ROWS
        for index in np.unique(owners).tolist():
            inside = owners == index
            products[inside] = self.blocks[index].rows(places[inside] % BLOCK_ROWS) @ query
        return products
