"""The vector leg: what it holds in memory, how it follows an index, and which chunks it finds."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends.base import BackendError, Failure, Mode
from backends.builtin.blocks import BLOCK_ROWS, Floats, Rows
from backends.builtin.matrix import Exact, Matrix, Prefilter
from backends.builtin.meta import publish, write_meta
from backends.builtin.reader import Lease, Reader
from backends.builtin.schema import open_for_writing
from backends.builtin.vectors import VectorCache
from backends.embedding import Vectors
from tests.backends.builtin.conftest import Desk, ToyEmbedder

DIMS = 32


def like_texts(count: int, dims: int = DIMS, seed: int = 1) -> Vectors:
    """Unit rows that crowd around a few subjects, with most of their weight in few dimensions, as real ones do."""
    draw = np.random.default_rng(seed)
    weights = 1 / np.sqrt(1 + np.arange(dims))
    subjects = draw.standard_normal((40, dims)) * weights
    rows = subjects[draw.integers(0, 40, count)] + 0.5 * draw.standard_normal((count, dims)) * weights
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


class Index:
    """An index file with vectors, written like the worker does and read with leases."""

    def __init__(self, path: Path, dims: int = DIMS) -> None:
        self.connection = open_for_writing(path, None).connection
        self.path = path
        self.reader = Reader(path)
        self.adopt(dims, epoch=1)

    def adopt(self, dims: int, epoch: int) -> None:
        with self.connection:
            embedding = {"provider": "static", "model": "toy", "dims": dims, "key": ""}
            publish(self.connection, embedding=embedding, epoch=epoch)

    def _generation(self) -> int:
        publish(self.connection)
        ((value,),) = self.connection.execute("SELECT value FROM meta WHERE key = 'generation'")
        return int(value)

    def add(self, rows: Any, first: int) -> None:
        """Chunks with these vectors (arrays, or whatever shall stand there), numbered from `first`."""
        with self.connection:
            stamp = self._generation()
            blobs = [row.astype("<f4").tobytes() if isinstance(row, np.ndarray) else row for row in rows]
            self.connection.executemany(
                "INSERT INTO chunks VALUES (?, ?, 'a.md', 'memory', 1, 1, '', 'toy', 'text', ?, 0, ?)",
                [(first + at, str(first + at), blob, stamp) for at, blob in enumerate(blobs)],
            )
            self.connection.executemany(
                "INSERT INTO chunks_fts (rowid, text) VALUES (?, 'text')", [(first + at,) for at in range(len(blobs))]
            )

    def remove(self, numbers: Any) -> None:
        with self.connection:
            self._generation()
            for table, column in (("chunks", "number"), ("chunks_fts", "rowid")):
                self.connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(int(n),) for n in numbers])

    @contextmanager
    def lease(self) -> Iterator[Lease]:
        with self.reader.lease(time.monotonic() + 60) as lease:
            yield lease


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    index = Index(tmp_path / "main.sqlite")
    yield index
    index.reader.close()
    index.connection.close()


def held_bytes(matrix: Matrix) -> int:
    """Memory of the blocks of a matrix, whole ones."""
    assert isinstance(matrix, Exact | Prefilter)
    return sum(block.room.nbytes for block in matrix.rows.blocks)


def numbers(found: list[tuple[int, float]]) -> list[int]:
    return [number for number, _ in found]


def by_hand(rows: Vectors, query: Vectors, limit: int, first: int = 1) -> list[int]:
    """The numbers of the highest cosines, from the definition."""
    return [first + int(at) for at in np.argsort(-(rows @ query), kind="stable")[:limit]]


@pytest.mark.parametrize("exact_rows", [10_000, 0], ids=["exact", "prefilter"])
class TestAnyMatrix:
    """What holds whether vectors are held as they are or rounded."""

    def test_the_nearest_are_found_in_their_order_with_their_cosines(self, index: Index, exact_rows: int) -> None:
        rows = like_texts(3000)
        index.add(rows, 1)
        query = like_texts(1, seed=2)[0]
        with index.lease() as lease:
            found = VectorCache(exact_rows).matrix(lease).nearest(query, 24, None)
        assert numbers(found) == by_hand(rows, query, 24)
        assert [cosine for _, cosine in found] == pytest.approx(sorted(rows @ query)[::-1][:24], abs=1e-6)

    def test_few_allowed_chunks_of_many_are_all_reached(self, index: Index, exact_rows: int) -> None:
        """They are far from the question: filtered after a cut, none would be left."""
        rows = like_texts(3000)
        index.add(rows, 1)
        query = like_texts(1, seed=2)[0]
        farthest = np.array(by_hand(rows, -query, 50))
        with index.lease() as lease:
            found = VectorCache(exact_rows).matrix(lease).nearest(query, 80, farthest)
        assert numbers(found) == list(reversed(farthest))

    def test_many_allowed_chunks_are_cut_after_the_filter(self, index: Index, exact_rows: int) -> None:
        """In no order, and with numbers that have no vector."""
        rows = like_texts(3000)
        index.add(rows, 1)
        query = like_texts(1, seed=2)[0]
        farthest = np.array(by_hand(rows, -query, 1500))
        best = list(reversed(farthest))[:10]
        with index.lease() as lease:
            found = VectorCache(exact_rows).matrix(lease).nearest(query, 10, np.append(farthest, [0, 9_999_999]))
        assert numbers(found) == best

    def test_cosines_of_given_chunks_leave_out_what_has_no_vector(self, index: Index, exact_rows: int) -> None:
        rows = like_texts(20)
        index.add(rows, 1)
        query = like_texts(1, seed=2)[0]
        with index.lease() as lease:
            cosines = VectorCache(exact_rows).matrix(lease).cosines(query, [20, 3, 500])
        assert cosines == pytest.approx({3: rows[2] @ query, 20: rows[19] @ query}, abs=1e-6)

    def test_a_question_that_nothing_can_be_compared_with_finds_nothing(self, index: Index, exact_rows: int) -> None:
        """Of another dimension, without meaning, or no numbers at all."""
        index.add(like_texts(20), 1)
        with index.lease() as lease:
            matrix = VectorCache(exact_rows).matrix(lease)
            for value, dims in ((1.0, DIMS + 1), (0.0, DIMS), (np.nan, DIMS), (np.inf, DIMS)):
                query = np.full(dims, value, dtype=np.float32)
                assert matrix.nearest(query, 5, None) == []
                assert matrix.cosines(query, [1]) == {}

    def test_a_text_without_meaning_has_the_cosine_zero(self, index: Index, exact_rows: int) -> None:
        """Neither rounding nor a product makes anything else of a zero vector."""
        index.add([*like_texts(2), np.zeros(DIMS)], 1)
        with index.lease() as lease:
            matrix = VectorCache(exact_rows).matrix(lease)
            assert matrix.cosines(like_texts(1, seed=2)[0], [3]) == {3: 0.0}
            assert np.isfinite([cosine for _, cosine in matrix.nearest(like_texts(1, seed=2)[0], 3, None)]).all()

    @pytest.mark.parametrize("blob", [b"", b"\0", bytes(4 * DIMS - 4), bytes(4 * DIMS + 4), "x" * 4 * DIMS, 7])
    def test_what_is_no_vector_is_damage(self, index: Index, exact_rows: int, blob: Any) -> None:
        index.add([*like_texts(5), blob], 1)
        with pytest.raises(BackendError) as refused, index.lease() as lease:
            VectorCache(exact_rows).matrix(lease)
        assert refused.value.failure is Failure.INDEX_LOST

    def test_lengths_that_make_up_for_each_other_are_damage(self, index: Index, exact_rows: int) -> None:
        """Together they are as long as two vectors, and every later row would be another chunk's."""
        index.add([bytes(4 * DIMS - 4), bytes(4 * DIMS + 4)], 1)
        with pytest.raises(BackendError), index.lease() as lease:
            VectorCache(exact_rows).matrix(lease)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_what_is_no_number_is_damage(self, index: Index, exact_rows: int, value: float) -> None:
        index.add([np.full(DIMS, value)], 1)
        with pytest.raises(BackendError), index.lease() as lease:
            VectorCache(exact_rows).matrix(lease)

    def test_it_follows_what_comes_and_goes(self, index: Index, exact_rows: int) -> None:
        """New chunks, deleted ones, and one that gets its vector after those behind it."""
        rows = like_texts(3000)
        query = like_texts(1, seed=2)[0]
        cache = VectorCache(exact_rows)
        alive = np.zeros(3000, dtype=bool)
        for begin, end in ((1000, 2000), (2000, 3000), (0, 1000)):
            index.add(rows[begin:end], begin + 1)
            alive[begin:end] = True
            gone = np.flatnonzero(alive)[::7]
            index.remove(gone + 1)
            alive[gone] = False
            with index.lease() as lease:
                found = cache.matrix(lease).nearest(query, 30, None)
            assert numbers(found) == [n for n in by_hand(rows, query, 3000) if alive[n - 1]][:30]

    def test_a_failed_refresh_leaves_the_matrix_as_it_was(self, index: Index, exact_rows: int) -> None:
        rows = like_texts(100)
        query = like_texts(1, seed=2)[0]
        cache = VectorCache(exact_rows)
        index.add(rows[:50], 1)
        with index.lease() as lease:
            cache.matrix(lease)
        index.add([*rows[50:60], b"torn"], 51)
        with pytest.raises(BackendError), index.lease() as lease:
            cache.matrix(lease)
        index.remove(range(51, 62))
        index.add(rows[50:], 51)
        with index.lease() as lease:
            assert numbers(cache.matrix(lease).nearest(query, 100, None)) == by_hand(rows, query, 100)

    def test_vectors_of_another_dimension_come_with_another_epoch(self, index: Index, exact_rows: int) -> None:
        cache = VectorCache(exact_rows)
        index.add(like_texts(50), 1)
        with index.lease() as lease:
            cache.matrix(lease)
        index.remove(range(1, 51))
        index.adopt(8, epoch=2)
        rows = like_texts(30, dims=8)
        index.add(rows, 51)
        query = like_texts(1, dims=8, seed=2)[0]
        with index.lease() as lease:
            assert numbers(cache.matrix(lease).nearest(query, 30, None)) == by_hand(rows, query, 30, first=51)

    def test_vectors_of_another_dimension_in_the_same_epoch_are_damage(self, index: Index, exact_rows: int) -> None:
        cache = VectorCache(exact_rows)
        index.add(like_texts(50), 1)
        with index.lease() as lease:
            cache.matrix(lease)
        index.add(like_texts(5, dims=8), 51)
        with pytest.raises(BackendError), index.lease() as lease:
            cache.matrix(lease)

    def test_vectors_of_no_known_model_are_damage(self, index: Index, exact_rows: int) -> None:
        index.add([b""], 1)
        with index.connection:
            write_meta(index.connection, embedding={"provider": "static", "model": "toy", "dims": 0, "key": ""})
        with pytest.raises(BackendError), index.lease() as lease:
            VectorCache(exact_rows).matrix(lease)

    def test_a_lease_that_was_overtaken_sees_no_later_chunk(self, index: Index, exact_rows: int) -> None:
        """It takes what is held, without loading anything anew, and the newer state stays."""
        rows = like_texts(100)
        query = like_texts(1, seed=2)[0]
        cache = VectorCache(exact_rows)
        index.add(rows[:60], 1)
        with index.lease() as slow:
            index.add(rows[60:], 61)
            with index.lease() as fast:
                newest = cache.matrix(fast)
                assert len(newest.nearest(query, 200, None)) == 100
            found = cache.matrix(slow)
            assert numbers(found.nearest(query, 200, None)) == by_hand(rows[:60], query, 60)
            assert found.rows.blocks is newest.rows.blocks

    def test_a_file_that_went_back_in_time_is_loaded_anew(self, index: Index, exact_rows: int, tmp_path: Path) -> None:
        """A copy of earlier was put into the same file, and its numbers go to other chunks."""
        rows = like_texts(100)
        query = like_texts(1, seed=2)[0]
        cache = VectorCache(exact_rows)
        index.add(rows[:60], 1)
        with closing(sqlite3.connect(tmp_path / "earlier")) as earlier, closing(sqlite3.connect(index.path)) as stock:
            stock.backup(earlier)
            index.add(rows[60:80], 61)
            index.add(rows[:1], 81)
            with index.lease() as lease:
                cache.matrix(lease)
            earlier.backup(stock)
        index.add(rows[80:], 61)
        with index.lease() as lease:
            expected = by_hand(np.concatenate([rows[:60], rows[80:]]), query, 80)
            assert numbers(cache.matrix(lease).nearest(query, 200, None)) == expected


def test_a_reader_keeps_the_state_that_it_took(index: Index) -> None:
    """Rows that come, go and are moved in memory change nothing in the hands of a search."""
    rows = like_texts(2 * BLOCK_ROWS)
    query = like_texts(1, seed=2)[0]
    cache = VectorCache()
    index.add(rows[:BLOCK_ROWS], 1)
    with index.lease() as lease:
        taken = cache.matrix(lease)
    before = taken.nearest(query, 100, None)
    index.remove(range(1, BLOCK_ROWS, 2))
    index.add(rows[BLOCK_ROWS:], BLOCK_ROWS + 1)
    with index.lease() as lease:
        cache.matrix(lease)
    assert taken.nearest(query, 100, None) == before


def test_new_rows_are_added_without_copying_the_old_ones(index: Index) -> None:
    rows = like_texts(BLOCK_ROWS + 100)
    cache = VectorCache()
    index.add(rows[:-50], 1)
    with index.lease() as lease:
        before = cache.matrix(lease)
    index.add(rows[-50:], BLOCK_ROWS + 51)
    with index.lease() as lease:
        after = cache.matrix(lease)
    assert isinstance(before, Exact)
    assert isinstance(after, Exact)
    for old, new in zip(before.rows.blocks, after.rows.blocks, strict=True):
        assert np.shares_memory(old.room, new.room)


def test_the_memory_of_deleted_rows_is_given_back(index: Index) -> None:
    """Where three of four chunks went, at most a block more than what is left is held."""
    count = 8 * BLOCK_ROWS
    index.add(like_texts(count), 1)
    cache = VectorCache()
    with index.lease() as lease:
        whole = held_bytes(cache.matrix(lease))
    index.remove([n for n in range(1, count + 1) if n % 4])
    with index.lease() as lease:
        left = cache.matrix(lease)
    assert len(left.nearest(like_texts(1)[0], count, None)) == count // 4
    assert held_bytes(left) <= whole / 4 + whole / 8


def test_a_few_deleted_rows_move_nothing(index: Index) -> None:
    index.add(like_texts(BLOCK_ROWS), 1)
    cache = VectorCache()
    with index.lease() as lease:
        before = cache.matrix(lease)
    index.remove(range(1, BLOCK_ROWS // 5))
    with index.lease() as lease:
        after = cache.matrix(lease)
    assert after.rows.blocks is before.rows.blocks


_PEAK = """
import resource, sys
import numpy as np
from backends.builtin.vectors import VectorCache
from backends.builtin.reader import Reader
from pathlib import Path
unit = 1 if sys.platform == "darwin" else 1024
with Reader(Path(sys.argv[1])).lease(float("inf")) as lease:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    matrix = VectorCache().matrix(lease)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit)
"""


def test_loading_holds_the_vectors_once(index: Index) -> None:
    """Beside them there is a block or two and what SQLite caches, never a second copy of all."""
    dims, count = 512, 20 * BLOCK_ROWS
    index.adopt(dims, epoch=2)
    rows = like_texts(BLOCK_ROWS, dims=dims)
    for first in range(1, count, BLOCK_ROWS):
        index.add(rows, first)
    done = subprocess.run([sys.executable, "-c", _PEAK, index.path], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1.7 * count * dims * 4


def test_rounded_vectors_choose_the_true_nearest_with_a_quarter_of_the_memory(index: Index) -> None:
    """At least 0.99 of the true top 24, over many questions."""
    rows, questions = like_texts(6000, dims=256), like_texts(100, dims=256, seed=2)
    index.adopt(256, epoch=2)
    index.add(rows, 1)
    with index.lease() as lease:
        exact, rounded = VectorCache().matrix(lease), VectorCache(exact_rows=5999).matrix(lease)
        found = [set(numbers(rounded.nearest(query, 24, None))) for query in questions]
    true = [set(by_hand(rows, query, 24)) for query in questions]
    assert isinstance(rounded, Prefilter)
    assert np.mean([len(mine & theirs) / 24 for mine, theirs in zip(found, true, strict=True)]) >= 0.99
    assert held_bytes(rounded) * 4 == held_bytes(exact)


def test_an_index_that_outgrows_exact_vectors_is_held_rounded(index: Index) -> None:
    """Whole: what was held before it grew, too."""
    rows = like_texts(120)
    query = like_texts(1, seed=2)[0]
    cache = VectorCache(exact_rows=100)
    index.add(rows[:100], 1)
    with index.lease() as lease:
        assert isinstance(cache.matrix(lease), Exact)
    index.add(rows[100:], 101)
    with index.lease() as lease:
        matrix = cache.matrix(lease)
        assert isinstance(matrix, Prefilter)
        assert numbers(matrix.nearest(query, 120, None)) == by_hand(rows, query, 120)


def test_a_dropped_cache_loads_again(index: Index) -> None:
    index.add(like_texts(20), 1)
    cache = VectorCache()
    for _ in range(2):
        with index.lease() as lease:
            assert len(cache.matrix(lease).nearest(like_texts(1)[0], 50, None)) == 20
        cache.drop()


def test_an_index_without_vectors_finds_nothing(index: Index) -> None:
    with index.lease() as lease:
        matrix = VectorCache().matrix(lease)
        assert matrix.nearest(like_texts(1)[0], 5, None) == []
        assert matrix.cosines(like_texts(1)[0], [1]) == {}


def test_moving_a_block_keeps_every_row_at_its_number() -> None:
    """From the first, a middle and the last place."""
    rows = like_texts(3 * BLOCK_ROWS - 10)
    query = like_texts(1, seed=2)[0]
    whole = Rows.empty(Floats, DIMS).added(np.arange(len(rows)), rows)
    for index in range(3):
        held, products = whole.without_block(index).products(query)
        assert held.tolist() == list(range(len(rows)))
        assert products == pytest.approx(rows @ query, abs=1e-6)


def test_a_question_is_answered_by_meaning_without_sqlite_vec(make_desk: Callable[..., Desk]) -> None:
    """The table of sqlite-vec is a stored form; no search reads it."""
    desk = make_desk(ToyEmbedder(), extension_path="/nonexistent/vec0")
    desk.write("memory/car.md", "my car is red\n")
    desk.sync()
    assert desk.paths("automobile", mode=Mode.VSEARCH) == ["memory/car.md"]


class Mute(ToyEmbedder):
    """Understands notes and no question."""

    def embed_query(self, text: str) -> Vectors:
        return np.zeros(self.identity.dims, dtype=np.float32)


def test_a_question_without_meaning_is_answered_by_its_words(make_desk: Callable[..., Desk]) -> None:
    """Its vector is zero, and equally far from every chunk."""
    desk = make_desk(Mute())
    desk.write("memory/car.md", "my car is red\n")
    desk.sync()
    assert desk.paths("car", mode=Mode.VSEARCH) == ["memory/car.md"]
