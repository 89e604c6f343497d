"""Having very many texts embedded by a provider's batch interface: their vectors come into the cache, in hours."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Protocol, runtime_checkable

import apsw
import orjson

from backends.builtin.embedding_cache import EmbeddingCache
from backends.builtin.forgetting import still_wanted
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
#: One sync waits so long for jobs: what is written meanwhile is to be found, and the next sync looks for results.
LONGEST_WAIT_S = 60.0
#: No provider keeps the results of a job for longer than that.
ABANDONED_S = 30 * 24 * 3600.0


class _EnoughError(Exception):
    """One sync has waited long enough for jobs; the next one looks again."""


class JobRunner(Protocol):
    """Runs jobs; see `BatchRunner`."""

    @property
    def has_jobs(self) -> bool:
        """Whether jobs of its own are under way."""
        ...

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
        self._forget_the_abandoned()
        give_up_at = time.monotonic() + LONGEST_WAIT_S
        runner = self._embedder.jobs(self._store, lambda seconds: _pause(seconds, give_up_at))
        while runner and not self.waiting and ((texts := self._missing(runner.has_jobs)) or runner.has_jobs):
            self._tried |= texts.keys()
            try:
                self._collect(runner.run(texts))
            except BatchGivenUp:
                self._embedder.gave_up()
                return
            self.waiting = runner.has_jobs

    def _forget_the_abandoned(self) -> None:
        """Forget jobs that nobody asked for any more since long ago, such as those of another account."""
        for job in self._store.load():
            if time.time() - job.submitted_at > ABANDONED_S:
                self._store.forget(job)

    def _missing(self, has_jobs: bool) -> Mapping[str, str]:
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
        return texts if len(texts) >= FEWEST_TEXTS or has_jobs else {}

    def _collect(self, results: Iterator[Result]) -> None:
        """Take results as they come.

        The provider is waited for on another thread, so that this one can tell that it lives; only one of the two
        touches the index at a time.
        """
        with ThreadPoolExecutor(1, thread_name_prefix="batch") as pool, suppress(_EnoughError):
            while result := awaited(pool.submit(next, results, None), idle=self._idle, alive=self._alive):
                if result.vector is not None:
                    self._made[result.digest] = result.vector.astype("<f4").tobytes()
                if len(self._made) >= MOST_RESULTS:
                    self._settle()
        self._settle()

    def _settle(self) -> None:
        # A text may have been deleted while the provider worked on it.
        wanted = still_wanted(self._connection, self._made.keys())
        self._cache.remember({digest: vector for digest, vector in self._made.items() if digest in wanted})
        self._made = {}


def _pause(seconds: float, give_up_at: float) -> None:
    left_s = give_up_at - time.monotonic()
    if left_s <= 0:
        raise _EnoughError
    threading.Event().wait(min(seconds, left_s))
