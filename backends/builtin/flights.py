"""Batches of chunks on their way to a model and back, in order, several at a time where the model is elsewhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

from backends.builtin.heartbeat import Idle, awaited
from backends.builtin.vectorizing import Content, Made, Vectorizer
from backends.embedding import Embedder, EmbeddingUnavailableError

#: Number, digest, content and shown path of a chunk.
Row: TypeAlias = tuple[int, str, Content, str]


@dataclass(frozen=True, slots=True)
class Batch:
    """Chunks that are to get their vectors, and the vectors that are known by digest."""

    rows: Sequence[Row]
    known: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class _Flight:
    batch: Batch
    own: Future[Made]
    #: Flights before this one that carry a content which is also here.
    borrowed: Mapping[str, Future[Made]]


class Flights:
    """Has batches embedded; no text is sent twice. Results come in the order of the batches."""

    def __init__(self, embedder: Embedder, *, idle: Idle, alive: Callable[[], None]) -> None:
        self._vectorizer = Vectorizer(embedder)
        self._concurrency = embedder.concurrency
        self._idle = idle
        self._alive = alive
        self._flying: dict[str, Future[Made]] = {}

    def land(self, batches: Iterator[Batch]) -> Iterator[tuple[Batch, Made]]:
        """Each batch with its vectors.

        Raises `EmbeddingUnavailableError` when the model is gone; what was under way by then is still given out.
        """
        if self._concurrency == 0:
            for batch in batches:
                yield batch, self._vectorizer.vectors(_missing(batch))
            return
        with ThreadPoolExecutor(self._concurrency, thread_name_prefix="embedding") as pool:
            yield from self._land(batches, pool)

    def _land(self, batches: Iterator[Batch], pool: ThreadPoolExecutor) -> Iterator[tuple[Batch, Made]]:
        failure: EmbeddingUnavailableError | None = None
        ahead: deque[_Flight] = deque()
        while True:
            # One more than are under way each, so that none waits while a result is stored.
            while failure is None and len(ahead) < 2 * self._concurrency and (batch := next(batches, None)):
                ahead.append(self._depart(batch, pool))
            if not ahead:
                break
            flight = ahead.popleft()
            try:
                made = self._arrived(flight)
            except EmbeddingUnavailableError as error:
                failure = failure or error
                _cancel(ahead)
            else:
                yield flight.batch, made
        if failure:
            raise failure

    def _depart(self, batch: Batch, pool: ThreadPoolExecutor) -> _Flight:
        missing = _missing(batch)
        borrowed = {digest: self._flying[digest] for digest in missing if digest in self._flying}
        contents = {digest: content for digest, content in missing.items() if digest not in borrowed}
        own = pool.submit(self._vectorizer.vectors, contents)
        self._flying |= dict.fromkeys(contents, own)
        return _Flight(batch, own, borrowed)

    def _arrived(self, flight: _Flight) -> Made:
        made = awaited(flight.own, idle=self._idle, alive=self._alive)
        for digest in (*made.vectors, *made.refused):
            del self._flying[digest]
        for digest, other in flight.borrowed.items():
            # Why another batch failed is told already; what this one got was paid for.
            with suppress(EmbeddingUnavailableError, CancelledError):
                made = made.joined(_only(digest, other.result()))
        return made


def _missing(batch: Batch) -> dict[str, Content]:
    return {digest: content for _, digest, content, _ in batch.rows if digest not in batch.known}


def _only(digest: str, made: Made) -> Made:
    if digest in made.vectors:
        return Made({digest: made.vectors[digest]})
    return Made({}, {digest: made.refused[digest]})


def _cancel(flights: deque[_Flight]) -> None:
    """Drop what has not begun; what is under way was paid for and is waited for."""
    kept = [flight for flight in flights if not flight.own.cancel()]
    flights.clear()
    flights.extend(kept)
