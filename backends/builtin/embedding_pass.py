"""Giving chunks their vectors: from the cache where the text was seen before, from the model where not."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

import apsw
import numpy as np

from backends.builtin import vec_table
from backends.builtin.calibration import measured, typical_line
from backends.builtin.embedding_cache import EmbeddingCache
from backends.builtin.identity import adopt_embedding
from backends.builtin.meta import publish, read_generation, read_meta, write_meta
from backends.builtin.schema import fetch, fetch_value
from backends.builtin.upkeep import keep_log_short
from backends.embedding import Embedder, EmbeddingUnavailableError, Vectors

log = logging.getLogger(__name__)

BATCH_TEXTS = 128
#: What every model can embed: it tells a model that is gone from a text that it cannot take.
_HARMLESS = "memory"
_SAMPLE_CHUNKS = 400


class _ShapeError(Exception):
    """A model did not give one row of its dimension for each text."""


class EmbeddingPass:
    """Runs over the chunks without a vector. No vectors of another model may be there.

    `refused` are the files, by shown path, with chunks that the model could not embed, and why: it is asked again at
    the next run. `failure` is set when the model went away: what is missing is made up for at the next run.
    """

    def __init__(self, connection: apsw.Connection, embedder: Embedder, cache_entries: int, has_vec: bool) -> None:
        self._connection = connection
        self._embedder = embedder
        self._identity = embedder.identity
        self._cache = EmbeddingCache(connection, embedder.identity, cache_entries)
        self._has_vec = has_vec
        self.refused: dict[str, str] = {}
        self.failure: EmbeddingUnavailableError | None = None

    @property
    def notice(self) -> dict[str, str] | None:
        """What a search must know of the last run; None when every chunk has its vector."""
        if self.failure:
            return {"code": self.failure.code, "message": self.failure.message, "action": self.failure.hint}
        if self.refused:
            message = f"Parts of {len(self.refused)} notes could not be embedded; they are found by their words."
            return {"code": "embedding_partial", "message": message, "action": "See `skipped` in the status."}
        return None

    def run(self, report: Callable[[dict[str, Any]], None]) -> int:
        """Embed what is missing and return how many chunks got a vector."""
        adopt_embedding(self._connection, self._identity)
        if self._has_vec:
            vec_table.align(self._connection, self._identity.dims)
        else:
            vec_table.leave(self._connection)
        self.refused, self.failure = {}, None
        embedded = 0
        try:
            for count in self._batches(report):
                embedded += count
            if embedded or read_meta(self._connection).get("spreads") is None:
                self._calibrate()
        except EmbeddingUnavailableError as error:
            self.failure = error
        if embedded:
            self._cache.trim()
        return embedded

    def _batches(self, report: Callable[[dict[str, Any]], None]) -> Iterator[int]:
        """How many chunks of each batch got a vector."""
        total = fetch_value(self._connection, "SELECT count(*) FROM chunks WHERE stamp = 0")
        seen = last = 0
        while batch := self._missing_after(last):
            yield self._embed(batch)
            keep_log_short(self._connection)
            seen, last = seen + len(batch), batch[-1][0]
            report({"phase": "vectors", "done": seen, "total": total})

    def _missing_after(self, number: int) -> list[tuple[int, str, str, str]]:
        rows = self._connection.execute(
            "SELECT number, hash, text, path FROM chunks WHERE stamp = 0 AND number > ? ORDER BY number LIMIT ?",
            (number, BATCH_TEXTS),
        )
        return list(rows)

    def _embed(self, batch: Sequence[tuple[int, str, str, str]]) -> int:
        known = self._cache.known({digest for _, digest, _, _ in batch})
        texts = {digest: text for _, digest, text, _ in batch if digest not in known}
        fresh, refused = self._vectors(texts)
        known |= fresh
        for _, digest, _, path in batch:
            if digest in refused:
                self.refused[path] = f"a part has no vector: {refused[digest]}"
        rows = [(number, known[digest]) for number, digest, _, _ in batch if digest in known]
        with self._connection:
            publish(self._connection)
            generation = read_generation(self._connection)
            model = self._identity.model
            self._connection.executemany(
                "UPDATE chunks SET embedding = ?, model = ?, stamp = ? WHERE number = ?",
                [(blob, model, generation, number) for number, blob in rows],
            )
            if self._has_vec:
                vec_table.add(self._connection, rows)
            self._cache.remember(fresh)
        return len(rows)

    def _vectors(self, texts: Mapping[str, str]) -> tuple[dict[str, bytes], dict[str, str]]:
        """By digest, the vectors of texts, and why the others have none: each alone, whatever one of them does."""
        if not texts:
            return {}, {}
        try:
            rows = self._rows(list(texts.values()))
        except EmbeddingUnavailableError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the model raises for one text, the others are embedded
            self._require_model()
            return self._isolated(texts, type(error).__name__)
        good: list[bool] = np.asarray(np.isfinite(rows).all(axis=1)).tolist()
        fresh = {digest: _blob(row) for digest, row, fine in zip(texts, rows, good, strict=True) if fine}
        return fresh, {digest: "the model gave no numbers" for digest in texts if digest not in fresh}

    def _rows(self, texts: Sequence[str]) -> Vectors:
        rows = self._embedder.embed(texts)
        if rows.shape != (len(texts), self._identity.dims):
            raise _ShapeError
        return rows

    def _isolated(self, texts: Mapping[str, str], error: str) -> tuple[dict[str, bytes], dict[str, str]]:
        """The same for texts of which at least one cannot be embedded, by halves."""
        if len(texts) == 1:
            log.warning("a text could not be embedded: %s", error)
            return {}, dict.fromkeys(texts, f"the model cannot embed it ({error})")
        items, middle = list(texts.items()), len(texts) // 2
        first, why_first = self._vectors(dict(items[:middle]))
        second, why_second = self._vectors(dict(items[middle:]))
        return first | second, why_first | why_second

    def _require_model(self) -> None:
        """Raise `EmbeddingUnavailableError` when the model cannot even embed a harmless word."""
        try:
            self._rows([_HARMLESS])
        except EmbeddingUnavailableError:
            raise
        except Exception as error:
            raise EmbeddingUnavailableError(
                "embedding_failed",
                f"The embedding model fails ({type(error).__name__}); new notes are found by their words only.",
                hint="The next sync tries again; check which model is served.",
            ) from error

    def _calibrate(self) -> None:
        """Measure where this index's cosines lie: a line against other chunks, and against its own."""
        rows = fetch(
            self._connection,
            "SELECT text, embedding FROM chunks WHERE stamp > 0 ORDER BY hash LIMIT ?",
            (_SAMPLE_CHUNKS,),
        )
        lines = {str(at): typical_line(text) for at, (text, _) in enumerate(rows)}
        asked, _ = self._vectors(lines)
        kept = [at for at in range(len(rows)) if str(at) in asked]
        if not kept:
            return
        asked_lines = np.stack([np.frombuffer(asked[str(at)], dtype="<f4") for at in kept])
        chunks = np.stack([np.frombuffer(rows[at][1], dtype="<f4") for at in kept])
        spreads = measured([rows[at][0] for at in kept], asked_lines, chunks, self._embedder.usual_spread)
        write_meta(self._connection, spreads={script.value: astuple(spread) for script, spread in spreads.items()})


def _blob(row: Vectors) -> bytes:
    return row.astype("<f4").tobytes()
