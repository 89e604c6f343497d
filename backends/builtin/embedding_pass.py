"""Giving chunks their vectors: from the cache where the text was seen before, from the model where not."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, astuple
from itertools import chain

import apsw
import numpy as np

from backends.builtin import vec_table
from backends.builtin.batch_jobs import Batching, BatchJobs
from backends.builtin.calibration import measured, typical_line
from backends.builtin.embedding_cache import EmbeddingCache
from backends.builtin.flights import Batch, Flights, Row
from backends.builtin.heartbeat import Idle
from backends.builtin.identity import adopt_embedding
from backends.builtin.media import MediaFiles
from backends.builtin.meta import publish, read_generation, read_meta, write_meta
from backends.builtin.need import missing
from backends.builtin.options import Report
from backends.builtin.schema import fetch, fetch_value
from backends.builtin.upkeep import keep_log_short
from backends.builtin.vectorizing import NO_NUMBERS, Made
from backends.embedding import Embedder, EmbeddingUnavailableError, MediaEmbedder

#: More than that for a provider elsewhere is told before it is sent: it takes a while, and may be charged for.
MANY_CHUNKS = 500
_SAMPLE_CHUNKS = 400
_MEDIA_ACTION = "Set provider gemini and model gemini-embedding-2-preview, or multimodal.enabled to false."
#: Images and recordings go one in a call; so many make a batch, so that few are lost when a sync is broken off.
_MEDIA_BATCH = 4


class EmbeddingPass:
    """Runs over the chunks without a vector. No vectors of another model may be there.

    `refused` are the files, by shown path, with chunks that the model could not embed, and why: it is asked again at
    the next run, but not for images and recordings that it declined. `cached` chunks of the last run had a vector that
    was known, also from a batch job of the provider. `failure` is set when the model went away: what
    is missing is made up for at the next run. `idle` is entered for as long as this thread waits for a model elsewhere.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        embedder: Embedder,
        cache_entries: int,
        has_vec: bool,
        media: MediaFiles,
        idle: Idle = nullcontext,
    ) -> None:
        self._connection = connection
        self._embedder = embedder
        self._identity = embedder.identity
        self._cache = EmbeddingCache(connection, embedder.identity, cache_entries)
        self._has_vec = has_vec
        self._media = media
        self._embeds_media = isinstance(embedder, MediaEmbedder) and bool(embedder.media)
        self._without_meaning = 0
        self._declined: set[str] = set()
        self._idle = idle
        self.refused: dict[str, str] = {}
        self.failure: EmbeddingUnavailableError | None = None
        self.cached = 0
        self._at_work = False

    @property
    def is_waiting(self) -> bool:
        """Whether the provider still works on batch jobs of the last run."""
        return self._at_work

    @property
    def notice(self) -> dict[str, str] | None:
        """What a search must know of the last run; None when every chunk has its vector."""
        if self.failure:
            return {"code": self.failure.code, "message": self.failure.message, "action": self.failure.hint}
        if self._at_work:
            message = "The provider works on batch jobs; new notes are found by their words until these end."
            return {"code": "embedding_batch", "message": message, "action": "Nothing: each sync looks for results."}
        if self.refused:
            message = f"Parts of {len(self.refused)} files could not be embedded; they are found by their words."
            return {"code": "embedding_partial", "message": message, "action": "See `skipped` in the status."}
        if self._without_meaning:
            message = f"The embedding model reads texts only; {self._without_meaning} images or recordings are found by"
            return {"code": "media_by_name", "message": f"{message} their names.", "action": _MEDIA_ACTION}
        return None

    def run(self, report: Report) -> int:
        """Embed what is missing and return how many chunks got a vector."""
        adopt_embedding(self._connection, self._identity)
        if self._has_vec:
            vec_table.align(self._connection, self._identity.dims)
        else:
            vec_table.leave(self._connection)
        self.refused, self.failure, self._at_work = {}, None, False
        self.cached = 0
        self._without_meaning = 0 if self._embeds_media else self._count_media()
        earlier = set(read_meta(self._connection).get("declined_media", []))
        self._declined = set(earlier)
        embedded = 0
        try:
            self._announce(report)
            self._run_jobs(report)
            for count in self._landed(report):
                embedded += count
            if embedded or read_meta(self._connection).get("spreads") is None:
                self._calibrate(report)
        except EmbeddingUnavailableError as error:
            self.failure = error
        if self._declined != earlier:
            write_meta(self._connection, declined_media=sorted(self._declined))
        if embedded:
            self._cache.trim()
        return embedded

    def _run_jobs(self, report: Report) -> None:
        """Let the provider's batch interface fill the cache, where it is to be used."""
        # Their vectors come by way of the cache.
        if not (self._cache.is_on and isinstance(self._embedder, Batching)):
            return
        jobs = BatchJobs(
            self._connection,
            self._cache,
            self._embedder,
            media=self._media,
            idle=self._idle,
            alive=lambda: report({"phase": "batch"}),
        )
        jobs.run()
        self._at_work = jobs.waiting

    def _landed(self, report: Report) -> Iterator[int]:
        """How many chunks of each batch got a vector."""
        total = fetch_value(self._connection, "SELECT count(*) FROM chunks WHERE stamp = 0")
        seen = 0

        def alive() -> None:
            report({"phase": "vectors", "done": seen, "total": total})

        for batch, made in self._embedded(alive):
            yield self._store(batch, made)
            keep_log_short(self._connection)
            seen += len(batch.rows)
            alive()

    def _embedded(self, alive: Callable[[], None]) -> Iterator[tuple[Batch, Made]]:
        texts, media = self._known_in(self._missing_texts()), self._known_in(self._missing_media())
        flights = Flights(self._embedder, idle=self._idle, alive=alive)
        if self._at_work:
            # What was not known is being paid for already.
            yield from ((batch, Made()) for batch in texts)
            yield from flights.land(media)
        else:
            yield from flights.land(chain(texts, media))

    def _announce(self, report: Report) -> None:
        """Say before it begins how much a provider elsewhere is to be sent, where that is much."""
        without = fetch_value(self._connection, "SELECT count(*) FROM chunks WHERE stamp = 0")
        if self._embedder.concurrency == 0 or without <= MANY_CHUNKS:
            return
        need = missing(self._connection, self._cache)
        if need.chunks > MANY_CHUNKS:
            whose = {"provider": self._identity.provider, "model": self._identity.model}
            report({"phase": "embedding_started", **whose, **asdict(need)})

    def _known_in(self, batches: Iterable[Sequence[Row]]) -> Iterator[Batch]:
        for rows in batches:
            yield Batch(rows, self._cache.known({digest for _, digest, _, _ in rows}))

    def _missing_texts(self) -> Iterator[list[Row]]:
        yield from self._missing(f"NOT {self._media.condition()}", self._embedder.batch_texts)

    def _missing_media(self) -> Iterator[list[Row]]:
        """Images and recordings by reference; their bytes are read on the thread that sends them."""
        if not self._embeds_media:
            return
        for rows in self._missing(self._media.condition(), _MEDIA_BATCH):
            # An upload is dear, and the same bytes would be declined again.
            self.refused |= {path: _has_none(NO_NUMBERS) for _, digest, _, path in rows if digest in self._declined}
            asked = [row for row in rows if row[1] not in self._declined]
            files = [(number, digest, self._media.at(path), path) for number, digest, _, path in asked]
            yield [(number, digest, file, path) for number, digest, file, path in files if file]

    def _count_media(self) -> int:
        sql = f"SELECT count(*) FROM chunks WHERE {self._media.condition()}"  # noqa: S608 - only question marks
        return int(fetch_value(self._connection, sql, self._media.roots))

    def _missing(self, condition: str, most: int) -> Iterator[list[Row]]:
        last = 0
        while rows := self._missing_after(last, condition, most):
            yield rows
            last = rows[-1][0]

    def _missing_after(self, number: int, condition: str, most: int) -> list[Row]:
        rows = self._connection.execute(
            "SELECT number, hash, text, path FROM chunks"  # noqa: S608 - only question marks
            f" WHERE stamp = 0 AND number > ? AND {condition} ORDER BY number LIMIT ?",
            (number, *self._media.roots, most),
        )
        return list(rows)

    def _store(self, batch: Batch, made: Made) -> int:
        known = {**batch.known, **made.vectors}
        for _, digest, content, path in batch.rows:
            if why := made.refused.get(digest):
                is_text = isinstance(content, str)
                self.refused[path] = _has_none(why, "a part" if is_text else "it")
                if why == NO_NUMBERS and not is_text:
                    self._declined.add(digest)
        rows = [(number, known[digest]) for number, digest, _, _ in batch.rows if digest in known]
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
            self._cache.remember(made.vectors)
        self.cached += sum(digest in batch.known for _, digest, _, _ in batch.rows)
        return len(rows)

    def _calibrate(self, report: Report) -> None:
        """Measure where this index's cosines lie: a line against other chunks, and against its own."""
        rows = fetch(
            self._connection,
            "SELECT text, embedding FROM chunks"  # noqa: S608 - only question marks
            f" WHERE stamp > 0 AND NOT {self._media.condition()} ORDER BY hash LIMIT ?",
            (*self._media.roots, _SAMPLE_CHUNKS),
        )
        asked = self._embedded_lines([typical_line(text) for text, _ in rows], report)
        kept = [at for at in range(len(rows)) if at in asked]
        if not kept:
            return
        asked_lines = np.stack([np.frombuffer(asked[at], dtype="<f4") for at in kept])
        chunks = np.stack([np.frombuffer(rows[at][1], dtype="<f4") for at in kept])
        spreads = measured([rows[at][0] for at in kept], asked_lines, chunks, self._embedder.usual_spread)
        write_meta(self._connection, spreads={script.value: astuple(spread) for script, spread in spreads.items()})

    def _embedded_lines(self, lines: Sequence[str], report: Report) -> dict[int, bytes]:
        """The vectors of lines by place, as far as the model takes them; the cache keeps them, too."""
        rows: list[Row] = [(at, hashlib.sha256(line.encode()).hexdigest(), line, "") for at, line in enumerate(lines)]
        found: dict[int, bytes] = {}
        flights = Flights(self._embedder, idle=self._idle, alive=lambda: report({"phase": "calibration"}))
        for batch, made in flights.land(self._known_in(_slices(rows, self._embedder.batch_texts))):
            self._cache.remember(made.vectors)
            known = {**batch.known, **made.vectors}
            found |= {at: known[digest] for at, digest, _, _ in batch.rows if digest in known}
        return found


def _has_none(why: str, what: str = "it") -> str:
    return f"{what} has no vector: {why}"


def _slices(rows: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    return (rows[at : at + size] for at in range(0, len(rows), size))
