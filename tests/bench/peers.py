"""What the built-in engine is held against: the usual ways to search the same texts and vectors, in this process.

Each gets more than the engine does: no socket, no process of its own, the question's vector ready made, and only row
numbers to find, neither scored nor read back from files.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeAlias

import apsw
import numpy as np

from backends.builtin.schema import READ_CACHE_KIB, load_vec
from backends.embedding import EmbeddingSpec, Vectors, create

VEC0, PRODUCT, WORDS = "vec0 KNN", "exact product in numpy", "any-word FTS5"
#: What a list of 6 results with a candidate multiplier of 4 asks for.
LIMIT = 24

Asked: TypeAlias = Mapping[str, Vectors]


def vectors_of(questions: Sequence[str]) -> Asked:
    """The vector of each question."""
    embedder = create(EmbeddingSpec(provider="static"))
    assert embedder is not None, "the extra `static` is missing"
    return {question: embedder.embed_query(question) for question in questions}


class Product:
    """The nearest chunks by one product with the whole matrix."""

    def __init__(self, index: Path, asked: Asked) -> None:
        with closing(apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            rows = list(connection.execute("SELECT number, embedding FROM chunks WHERE stamp > 0"))
        self._numbers = [number for number, _ in rows]
        data = np.frombuffer(b"".join(blob for _, blob in rows), dtype="<f4")
        self._rows = data.reshape(len(rows), -1).astype(np.float32, copy=True)
        self._asked = asked

    def search(self, question: str) -> list[int]:
        """Numbers of chunks, nearest first."""
        cosines = self._rows @ self._asked[question]
        limit = min(LIMIT, len(cosines))
        top = np.argpartition(cosines, len(cosines) - limit)[-limit:]
        return [self._numbers[at] for at in top[np.argsort(-cosines[top])]]


class Tables:
    """The chunks of an index in a database as anybody would make it: a table of vectors, a table of texts."""

    def __init__(self, connection: apsw.Connection, asked: Asked) -> None:
        self._connection = connection
        self._asked = asked

    def vec0(self, question: str) -> list[int]:
        """The nearest chunks by sqlite-vec."""
        sql = "SELECT number FROM vectors WHERE embedding MATCH ? AND k = ?"
        return self._numbers(sql, self._asked[question].astype("<f4").tobytes())

    def words(self, question: str) -> list[int]:
        """The chunks with any of the question's words, best BM25 first."""
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        return self._numbers("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT ?", words)

    def _numbers(self, sql: str, value: object) -> list[int]:
        return [number for (number,) in self._connection.execute(sql, (value, LIMIT))]


@contextmanager
def tables(index: Path, asked: Asked) -> Iterator[Tables]:
    """Copy the chunks of an index."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        closing(apsw.Connection(f"{folder}/peers.sqlite")) as connection,
    ):
        assert load_vec(connection, None), "sqlite-vec does not load here"
        connection.execute(f"PRAGMA journal_mode=wal; PRAGMA cache_size=-{READ_CACHE_KIB}").fetchall()
        connection.execute("ATTACH ? AS source", (str(index),))
        with connection:
            _fill(connection)
        connection.execute("DETACH source")
        yield Tables(connection, asked)


def _fill(connection: apsw.Connection) -> None:
    ((size,),) = connection.execute("SELECT length(embedding) FROM source.chunks WHERE stamp > 0 LIMIT 1")
    connection.execute(
        "CREATE VIRTUAL TABLE vectors USING vec0("
        f"number INTEGER PRIMARY KEY, embedding FLOAT[{size // 4}] DISTANCE_METRIC=cosine);"
        "INSERT INTO vectors SELECT number, embedding FROM source.chunks WHERE stamp > 0;"
        "CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='unicode61');"
        "INSERT INTO texts (rowid, text) SELECT number, text FROM source.chunks;"
    )
