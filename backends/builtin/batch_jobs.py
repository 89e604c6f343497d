"""Having very many texts embedded by a provider's batch interface: their vectors come into the cache, in hours."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, runtime_checkable

import apsw
import orjson

from backends.builtin.embedding_cache import EmbeddingCache
from backends.builtin.heartbeat import Idle, awaited
from backends.builtin.media import MediaFiles
from backends.builtin.schema import fetch
from backends.embedding.remote.batch.runner import BatchGivenUp, JobStore
from backends.embedding.remote.batch.wire import Job, Result

#: Fewer are embedded by direct calls: a job may take a day, and somebody has just written a note.
FEWEST_TEXTS = 200
#: So many texts, and so many results, are held in memory at a time.
MOST_TEXTS = 20_000
MOST_RESULTS = 200


class JobRunner(Protocol):
    """Runs jobs; see `BatchRunner.run`."""

    def run(self, texts: Mapping[str, str]) -> Iterator[Result]:
        """The vectors of texts by digest. Raises `BatchGivenUp` and `EmbeddingUnavailableError`."""
        ...


@runtime_checkable
class Batching(Protocol):
    """An embedder that may have a batch interface."""

    def jobs(self, store: JobStore, sleep: Callable[[float], None]) -> JobRunner | None:
        """What runs its jobs; None when it has none, or they are not wanted, or did not work here before."""
        ...

    def gave_up(self) -> None:
        """Jobs did not work: from now on `jobs` is None."""
        ...


class IndexJobStore:
    """Keeps submitted jobs in the index that waits for them. `settle` stores what a job gave before it is forgotten."""

    def __init__(self, connection: apsw.Connection, settle: Callable[[], None] = lambda: None) -> None:
        self._connection = connection
        self._settle = settle

    def save(self, job: Job) -> None:
        """Keep a job; when this returns it survives a kill."""
        data = orjson.dumps(job.to_json()).decode()
        self._connection.execute("INSERT OR REPLACE INTO embedding_jobs VALUES (?, ?)", (job.id, data))

    def load(self) -> list[Job]:
        """All jobs kept."""
        rows = fetch(self._connection, "SELECT data FROM embedding_jobs ORDER BY rowid")
        return [Job.from_json(orjson.loads(data)) for (data,) in rows]

    def forget(self, job: Job) -> None:
        """Keep a job no more."""
        with self._connection:
            self._settle()
            self._connection.execute("DELETE FROM embedding_jobs WHERE id = ?", (job.id,))


class BatchJobs:
    """The jobs for the chunks without a vector. `waiting`: some did not end yet, and are left to a later sync."""

    def __init__(
        self,
        connection: apsw.Connection,
        cache: EmbeddingCache,
        embedder: Batching,
        *,
        media: MediaFiles,
        idle: Idle,
        alive: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._media = media
        self._cache = cache
        self._embedder = embedder
        self._idle = idle
        self._alive = alive
        self._store = IndexJobStore(connection, self._settle)
        self._made: dict[str, bytes] = {}
        self._tried: set[str] = set()
        self.waiting = False

    def run(self) -> None:
        """Have the texts embedded and put their vectors into the cache; what could not be is left to direct calls.

        Raises `EmbeddingUnavailableError` when no call of any kind can succeed.
        """
        runner = self._embedder.jobs(self._store, _pause)
        while runner and not self.waiting and (texts := self._missing()):
            self._tried |= texts.keys()
            try:
                self._collect(runner.run(texts))
            except BatchGivenUp:
                self._embedder.gave_up()
                return
            self.waiting = bool(self._store.load())

    def _missing(self) -> Mapping[str, str]:
        """Texts by digest without a vector; none when they are so few that direct calls are better."""
        texts: dict[str, str] = {}
        # What stands as the text of an image is its path, and no vector of that may be taken for its own.
        rows = self._connection.execute(
            "SELECT hash, text FROM chunks"  # noqa: S608 - only question marks
            f" WHERE stamp = 0 AND NOT {self._media.condition()} ORDER BY number",
            self._media.roots,
        )
        for digest, text in rows:
            if digest not in self._tried and not self._cache.known({digest}):
                texts[digest] = text
            if len(texts) == MOST_TEXTS:
                break
        return texts if len(texts) >= FEWEST_TEXTS or self._store.load() else {}

    def _collect(self, results: Iterator[Result]) -> None:
        """Take results as they come.

        The provider is waited for on another thread, so that this one can tell that it lives; only one of the two
        touches the index at a time.
        """
        with ThreadPoolExecutor(1, thread_name_prefix="batch") as pool:
            while result := awaited(pool.submit(next, results, None), idle=self._idle, alive=self._alive):
                if result.vector is not None:
                    self._made[result.digest] = result.vector.astype("<f4").tobytes()
                if len(self._made) >= MOST_RESULTS:
                    self._settle()
        self._settle()

    def _settle(self) -> None:
        self._cache.remember(self._made)
        self._made = {}


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)
