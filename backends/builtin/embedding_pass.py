"""Giving chunks their vectors: from the cache where the text was seen before, from the model where not."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import apsw
import numpy as np

from backends.builtin.meta import read_meta, write_meta
from backends.builtin.schema import fetch, fetch_value
from backends.embedding import Embedder, Vectors

BATCH_TEXTS = 128
_SAMPLE_CHUNKS = 200
# How many sampled chunks weigh as much as what is usual for the model.
_PRIOR_CHUNKS = 30


class EmbeddingPass:
    """One run over the chunks without a vector."""

    def __init__(self, connection: apsw.Connection, embedder: Embedder, cache_entries: int, has_vec: bool) -> None:
        self._connection = connection
        self._embedder = embedder
        self._identity = embedder.identity
        self._cache_entries = cache_entries
        self._has_vec = has_vec

    def run(self, report: Callable[[dict[str, Any]], None]) -> int:
        """Embed what is missing and return how many chunks got a vector."""
        self._adopt_identity()
        self._prepare_vec()
        total = fetch_value(self._connection, "SELECT count(*) FROM chunks WHERE stamp = 0")
        done = 0
        while batch := fetch(
            self._connection,
            "SELECT number, hash, text FROM chunks WHERE stamp = 0 ORDER BY number LIMIT ?",
            (BATCH_TEXTS,),
        ):
            self._embed(batch)
            done += len(batch)
            report({"phase": "vectors", "done": done, "total": total})
        if done:
            self._trim_cache()
            self._calibrate()
        return done

    def _adopt_identity(self) -> None:
        """Drop the vectors of another model: they cannot be compared with ours."""
        meta = read_meta(self._connection)
        if meta.get("embedding") == asdict(self._identity):
            return
        with self._connection:
            self._connection.execute("UPDATE chunks SET embedding = x'', model = '', stamp = 0 WHERE stamp > 0")
            write_meta(
                self._connection,
                embedding=asdict(self._identity),
                epoch=meta.get("epoch", 0) + 1,
                generation=meta.get("generation", 0) + 1,
                vec_complete=False,
                spread=None,
            )

    def _prepare_vec(self) -> None:
        """Make the sqlite-vec table agree with the chunks; without the extension note that it does not."""
        if not self._has_vec:
            write_meta(self._connection, vec_complete=False)
            return
        with self._connection:
            if not read_meta(self._connection).get("vec_complete"):
                self._connection.execute("DROP TABLE IF EXISTS chunks_vec")
                self._connection.execute(
                    "CREATE VIRTUAL TABLE chunks_vec USING vec0("
                    f"number INTEGER PRIMARY KEY, embedding FLOAT[{self._identity.dims}] DISTANCE_METRIC=cosine)"
                )
            # Rows of chunks that went, and vectors that a chunk brought along from before its file changed.
            self._connection.execute(
                "DELETE FROM chunks_vec WHERE number IN"
                " (SELECT number FROM chunks_vec EXCEPT SELECT number FROM chunks WHERE stamp > 0)"
            )
            self._connection.execute(
                "INSERT INTO chunks_vec (number, embedding) SELECT number, embedding FROM chunks WHERE stamp > 0"
                " AND number NOT IN (SELECT number FROM chunks_vec)"
            )
            write_meta(self._connection, vec_complete=True)

    def _embed(self, batch: list[tuple[Any, ...]]) -> None:
        known = self._cached({digest for _, digest, _ in batch})
        fresh = {digest: text for _, digest, text in batch if digest not in known}
        if fresh:
            rows = self._embedder.embed(list(fresh.values()))
            known |= {digest: _blob(row) for digest, row in zip(fresh, rows, strict=True)}
        with self._connection:
            generation = read_meta(self._connection).get("generation", 0) + 1
            model = self._identity.model
            self._connection.executemany(
                "UPDATE chunks SET embedding = ?, model = ?, stamp = ? WHERE number = ?",
                [(known[digest], model, generation, number) for number, digest, _ in batch],
            )
            if self._has_vec:
                self._connection.executemany(
                    "INSERT INTO chunks_vec (number, embedding) VALUES (?, ?)",
                    [(number, known[digest]) for number, digest, _ in batch],
                )
            self._remember({digest: known[digest] for digest in fresh})
            write_meta(self._connection, generation=generation)

    def _key(self) -> tuple[str, str, str]:
        return self._identity.provider, self._identity.model, f"{self._identity.dims}:{self._identity.key}"

    def _cached(self, digests: set[str]) -> dict[str, bytes]:
        if not self._cache_entries:
            return {}
        marks = ",".join("?" * len(digests))
        rows = fetch(
            self._connection,
            "SELECT hash, embedding FROM embedding_cache"  # noqa: S608 - only question marks
            " WHERE provider = ? AND model = ? AND provider_key = ?"
            f" AND hash IN ({marks})",
            (*self._key(), *digests),
        )
        return dict(rows)

    def _remember(self, vectors: dict[str, bytes]) -> None:
        if self._cache_entries:
            self._connection.executemany(
                "INSERT OR REPLACE INTO embedding_cache VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (*self._key(), digest, blob, self._identity.dims, int(time.time()))
                    for digest, blob in vectors.items()
                ],
            )

    def _trim_cache(self) -> None:
        entries = fetch_value(self._connection, "SELECT count(*) FROM embedding_cache")
        if entries > self._cache_entries:
            self._connection.execute(
                "DELETE FROM embedding_cache WHERE (provider, model, provider_key, hash) IN"
                " (SELECT provider, model, provider_key, hash FROM embedding_cache ORDER BY updated_at LIMIT ?)",
                (entries - self._cache_entries,),
            )

    def _calibrate(self) -> None:
        """Measure where this index's cosines lie: a line against other chunks, and against its own."""
        rows = fetch(
            self._connection,
            "SELECT text, embedding FROM chunks WHERE stamp > 0 ORDER BY hash LIMIT ?",
            (_SAMPLE_CHUNKS,),
        )
        matrix = np.stack([np.frombuffer(blob, dtype="<f4") for _, blob in rows])
        cosines = self._embedder.embed([_typical_line(text) for text, _ in rows]) @ matrix.T
        background, best = self._embedder.usual_cosines
        if len(rows) > 1:
            share = len(rows) / (len(rows) + _PRIOR_CHUNKS)
            others = cosines[~np.eye(len(rows), dtype=bool)]
            background += share * (float(others.mean()) - background)
            best += share * (float(np.percentile(np.diag(cosines), 90)) - best)
        write_meta(self._connection, spread=[background, max(best, background + 0.1)])


def _typical_line(text: str) -> str:
    lines = sorted((line.strip() for line in text.splitlines() if line.strip()), key=len)
    return lines[len(lines) // 2][:200] if lines else ""


def _blob(row: Vectors) -> bytes:
    return row.astype("<f4").tobytes()
