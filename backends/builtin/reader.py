"""Reading an index from many threads: leased connections, and what is known about the current generation."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from backends.base import BackendError, Failure
from backends.builtin.locking import gate
from backends.builtin.meta import joined, read_generation, read_meta
from backends.builtin.schema import DAMAGE, open_for_reading, require_agreement, require_ours
from backends.relevance import Spread

#: SQLite looks at the deadline every so many of its own steps, about a millisecond.
_STEPS_BETWEEN_LOOKS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """An index at one generation. `frequencies` fills as words are asked for; all else never changes.

    `file` is the device and inode of the file, `generation` the number of its last change.
    """

    file: tuple[int, int]
    generation: int
    documents: int
    chunks: int
    vectors: int
    epoch: int
    embedding: dict[str, Any] | None
    spreads: Mapping[str, Spread]
    vector_store: str
    last_sync: float | None
    skipped: dict[str, str]
    notices: tuple[dict[str, str], ...]
    frequencies: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lease:
    """One connection inside a read transaction since `begun_at` (`time.monotonic()`), and the facts of what it sees."""

    connection: apsw.Connection
    facts: Facts
    begun_at: float

    def frequency(self, key: str) -> int:
        """How many chunks hold an index term."""
        known = self.facts.frequencies.get(key)
        if known is None:
            row = self.connection.execute("SELECT doc FROM temp.vocab WHERE term = ?", (key,)).fetchone()
            known = self.facts.frequencies[key] = row[0] if row else 0
        return known


class Reader:
    """Read access to one index file, opened on first use. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._idle: list[apsw.Connection] = []
        self._file: tuple[int, int] | None = None
        self._facts: Facts | None = None
        self._closed = False
        #: Whether the file that was read last is one of ours and damaged.
        self.damaged = False

    @property
    def facts(self) -> Facts | None:
        """What the last lease saw. Never waits."""
        return self._facts

    def exists(self) -> bool:
        """Whether there is an index with content."""
        try:
            return self._path.stat().st_size > 0
        except OSError:
            return False

    @contextmanager
    def lease(self, deadline_at: float) -> Iterator[Lease]:
        """A consistent view of the index until `deadline_at` (`time.monotonic()`).

        Raises `BackendError`: `INDEX_LOST` for a missing, damaged or foreign file, `LOCKED`, `TIMEOUT`.
        """
        try:
            connection, file = self._connect()
            try:
                connection.set_progress_handler(lambda: time.monotonic() > deadline_at, _STEPS_BETWEEN_LOOKS)
                begun_at = time.monotonic()
                connection.execute("BEGIN")
                yield Lease(connection, self._current(connection, file), begun_at)
            finally:
                self._give_back(connection, file)
        except apsw.InterruptError as error:
            raise BackendError(Failure.TIMEOUT, "The index took longer than the deadline.") from error
        except apsw.BusyError as error:
            raise BackendError(Failure.LOCKED, "The index is locked.") from error
        except (apsw.Error, *DAMAGE) as error:
            self.damaged = self.damaged or isinstance(error, DAMAGE)
            raise BackendError(
                Failure.INDEX_LOST, f"The index cannot be read ({type(error).__name__}).", hint="A sync rebuilds it."
            ) from error

    def close(self) -> None:
        """Close every connection; leased ones when they come back. Safe to call twice."""
        with self._lock:
            self._closed = True
            self._drop_idle()

    def _connect(self) -> tuple[apsw.Connection, tuple[int, int]]:
        try:
            return self._idle_one() or self._opened()
        except OSError as error:
            raise BackendError(
                Failure.INDEX_LOST, "There is no index.", hint="A sync builds it from the notes."
            ) from error

    def _idle_one(self) -> tuple[apsw.Connection, tuple[int, int]] | None:
        file = self._identify()
        with self._lock:
            self._turn_to(file)
            return (self._idle.pop(), file) if self._idle else None

    def _opened(self) -> tuple[apsw.Connection, tuple[int, int]]:
        # No file is exchanged while the gate is held: what is identified is what is opened, with its own log.
        with gate(self._path):
            file = self._identify()
            with self._lock:
                self._turn_to(file)
            return open_for_reading(self._path), file

    def _turn_to(self, file: tuple[int, int]) -> None:
        """Read that file from now on. Needs the lock: nobody opens a new file before it was looked at."""
        if self._closed:
            raise BackendError(Failure.INDEX_LOST, "The index is closed.")
        if file == self._file:
            return
        # Another file took the place: what was known belongs to the old one.
        self._drop_idle()
        self._file, self._facts, self.damaged = None, None, False
        require_ours(self._path)
        self._file = file

    def _identify(self) -> tuple[int, int]:
        info = self._path.stat()
        return info.st_dev, info.st_ino

    def _give_back(self, connection: apsw.Connection, file: tuple[int, int]) -> None:
        connection.set_progress_handler(None)
        with self._lock:
            if not self._closed and file == self._file:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                self._idle.append(connection)
                return
        connection.close(True)

    def _drop_idle(self) -> None:
        while self._idle:
            self._idle.pop().close(True)

    def _current(self, connection: apsw.Connection, file: tuple[int, int]) -> Facts:
        generation = read_generation(connection)
        facts = self._facts
        if facts is None or (facts.file, facts.generation) != (file, generation):
            facts = self._facts = _facts(connection, file, generation)
        return facts


class IndexStatistics:
    """Word frequencies of an index. An index that cannot be read knows no words."""

    def __init__(self, reader: Reader, deadline_s: float = 2.0) -> None:
        self._reader = reader
        self._deadline_s = deadline_s

    @property
    def documents(self) -> int:
        """How many chunks there are."""
        facts = self._reader.facts
        if facts is None:
            self.frequency("")
            facts = self._reader.facts
        return facts.chunks if facts else 0

    def frequency(self, term: str) -> int:
        """How many chunks hold the term."""
        facts = self._reader.facts
        if facts is not None and term in facts.frequencies:
            return facts.frequencies[term]
        try:
            with self._reader.lease(time.monotonic() + self._deadline_s) as lease:
                return lease.frequency(term)
        except BackendError:
            return 0


def _facts(connection: apsw.Connection, file: tuple[int, int], generation: int) -> Facts:
    require_agreement(connection)
    meta = read_meta(connection)
    ((documents,),) = connection.execute("SELECT count(*) FROM files WHERE hash != ''")
    ((chunks, vectors),) = connection.execute("SELECT count(*), count(*) FILTER (WHERE stamp > 0) FROM chunks")
    return Facts(
        file=file,
        generation=generation,
        documents=documents,
        chunks=chunks,
        vectors=vectors,
        epoch=meta.get("epoch", 0),
        embedding=meta.get("embedding"),
        spreads={script: Spread(*spread) for script, spread in (meta.get("spreads") or {}).items()},
        vector_store=meta.get("vector_store", "numpy"),
        last_sync=meta.get("last_sync"),
        skipped=joined(meta.get("skipped", {}), meta.get("unembedded", {})),
        notices=tuple(filter(None, (meta.get("rebuilt_notice"), meta.get("embedding_notice")))),
    )


def size_bytes(path: Path) -> int:
    """The bytes that an index and its log take on disk, 0 where there is none."""
    total = 0
    for part in (path, path.with_name(path.name + "-wal")):
        with suppress(OSError):
            total += part.stat().st_size
    return total
