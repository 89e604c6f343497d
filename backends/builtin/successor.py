"""An index built beside the present one, because notes are cut or embedded in another way from now on.

The present index answers until the successor is whole and takes its place at once. A successor that a kill left
half made is continued as long as it is what is wanted; there is never more than one.
"""

from __future__ import annotations

from contextlib import closing, nullcontext
from dataclasses import asdict
from pathlib import Path

import apsw

from backends.builtin.embedding_cache import EmbeddingCache
from backends.builtin.embedding_pass import EmbeddingPass
from backends.builtin.file_pass import FilePass
from backends.builtin.heartbeat import Idle
from backends.builtin.identity import Cut, Present, adopt_cut, adopt_embedding
from backends.builtin.media import MediaFiles
from backends.builtin.meta import note_sync, read_meta, write_meta
from backends.builtin.options import IndexJob, Report
from backends.builtin.ownership import Owner, discard, exchange, owner_of
from backends.builtin.schema import BUSY_TIMEOUT_MS, DAMAGE, Opened, open_disposable
from backends.builtin.upkeep import store_log
from backends.embedding import Embedder, EmbeddingIdentity, EmbeddingUnavailableError


def successor_of(index: Path) -> Path:
    """Where the successor of an index is built."""
    return index.with_name(f"{index.name}.building")


def drop_successor(index: Path) -> None:
    """Remove a successor that nobody wants any more. Raises `OSError`, and `BackendError` for a stranger's file."""
    successor = successor_of(index)
    if owner_of(successor) is not Owner.NOBODY or successor.exists():
        discard(successor)


def finish_exchange(index: Path, extension: Path | None) -> None:
    """Let a successor that is whole take the place of the index, where a kill or a reader prevented it."""
    successor = successor_of(index)
    if not successor.exists():
        return
    try:
        with closing(open_disposable(successor, extension).connection) as connection:
            whole = bool(read_meta(connection).get("whole"))
    except DAMAGE:
        discard(successor)
        return
    if whole:
        take_place(index)


def take_place(index: Path) -> None:
    """Exchange an index for its successor, which must be whole and closed.

    Raises `BackendError(LOCKED)` when a reader does not let go of the index: the successor stays, for the next time.
    """
    _settle(successor_of(index))
    if owner_of(index) is Owner.US:
        _settle(index)
    exchange(successor_of(index), index)


def _settle(path: Path) -> None:
    """Bring everything from the log into the file; one that is damaged is lost anyway."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        try:
            store_log(connection)
        except DAMAGE:
            return


class Succession:
    """One attempt to build the successor of an index to its end.

    `refreshing` is a report that may also bring the present index up to date; it is called no more when the successor
    looks at the files for the last time, since it must know all that the present index knows. `embedder` None builds
    keywords alone, and `notice` says why. `refused` and `failure` are those of `EmbeddingPass`.
    """

    def __init__(
        self,
        job: IndexJob,
        embedder: Embedder | None,
        *,
        report: Report,
        refreshing: Report,
        notice: dict[str, str] | None = None,
        idle: Idle = nullcontext,
    ) -> None:
        self._job = job
        self._index = job.options.index
        self._embedder = embedder
        self._cut = Cut.of(job.options)
        self._report = report
        self._refreshing = refreshing
        self._idle = idle
        self.notice = notice
        self.embedded = self.cached = 0
        self.refused: dict[str, str] = {}
        self.failure: EmbeddingUnavailableError | None = None

    def build(self) -> bool:
        """Build, or continue to; whether the successor is whole.

        One that turns out to be damaged is begun anew, once. Raises `BackendError`, `apsw.Error`, `OSError`.
        """
        try:
            return self._build()
        except DAMAGE:
            drop_successor(self._index)
            return self._build()

    def _build(self) -> bool:
        opened = self._opened()
        with closing(opened.connection):
            self._prepare(opened.connection)
            return self._fill(opened)

    def _opened(self) -> Opened:
        path, extension = successor_of(self._index), self._job.options.extension_path
        opened = open_disposable(path, extension)
        present = Present.of(opened.connection)
        wanted = asdict(self._embedder.identity) if self._embedder else None
        if (present.chunking, present.embedding) == (self._cut.stored(), wanted):
            return opened
        opened.connection.close()
        discard(path)
        return open_disposable(path, extension)

    def _prepare(self, connection: apsw.Connection) -> None:
        """Note what is being built, and carry over every vector that was ever made."""
        if read_meta(connection).get("seeded"):
            return
        adopt_cut(connection, self._cut)
        if self._embedder:
            identity = self._embedder.identity
            adopt_embedding(connection, identity)
            cache = EmbeddingCache(connection, identity, self._job.options.cache_entries)
            cache.carry_over(self._index, chunks=self._has_vectors_of(identity))
        write_meta(connection, seeded=True)

    def _has_vectors_of(self, identity: EmbeddingIdentity) -> bool:
        with closing(apsw.Connection(str(self._index), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            present = Present.of(connection)
        return present.has_vectors and not present.has_vectors_of_another(identity)

    def _fill(self, opened: Opened) -> bool:
        connection, options, media = opened.connection, self._job.options, MediaFiles.of_job(self._job)
        stage = self._embedder and EmbeddingPass(
            connection, self._embedder, options.cache_entries, opened.has_vec, media, self._idle
        )
        # Twice: what was written while the first round embedded must not be missing after the exchange.
        for report in (self._refreshing, self._report):
            files = FilePass(connection, self._job.corpus, self._cut, media, report)
            files.run()
            if stage:
                self.embedded += stage.run(report)
                self.cached += stage.cached
                self.failure, self.notice, self.refused = stage.failure, stage.notice, stage.refused
            if self.failure or (stage and stage.is_waiting):
                return False
        note_sync(
            connection,
            has_vec=opened.has_vec,
            skipped=files.skipped,
            unembedded=self.refused,
            embedding_notice=self.notice,
            whole=True,
        )
        return True
