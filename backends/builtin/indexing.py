"""One sync of one index: the words first, then the vectors; beside the present index where it has others.

Runs in the worker process.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import apsw

from backends.base import BackendError, Failure, SyncReport, disk_full
from backends.builtin import vec_table
from backends.builtin.embedding_pass import EmbeddingPass
from backends.builtin.file_pass import FilePass
from backends.builtin.forgetting import LOST, compact, discard_copies, forget_lost
from backends.builtin.heartbeat import Idle
from backends.builtin.identity import Cut, Present, adopt_cut
from backends.builtin.locking import one_writer
from backends.builtin.media import MediaFiles
from backends.builtin.meta import joined, note_sync, read_meta
from backends.builtin.options import NO_MODEL, IndexJob, Report
from backends.builtin.ownership import owner_of
from backends.builtin.schema import DAMAGE, Opened, open_for_writing
from backends.builtin.successor import Succession, drop_successor, finish_exchange, take_place
from backends.builtin.upkeep import end_log, forget_words, give_back_pages
from backends.embedding import Embedder, EmbeddingSpec, EmbeddingUnavailableError
from backends.full_disk import is_full_disk

EmbedderFor: TypeAlias = Callable[[EmbeddingSpec], Embedder | None]

#: While a successor is built, the present index takes up what was written, this often.
REFRESH_S = 20.0


def run_index_job(
    job: IndexJob,
    *,
    embedder_for: EmbedderFor,
    report: Report = lambda progress: None,
    refresh_s: float = REFRESH_S,
    idle: Idle = nullcontext,
) -> SyncReport:
    """Run one job to its end and say what it did. Synchronous; `report` hears `{phase, done, total}` after each batch.

    `idle` is entered for as long as the job waits for a model outside this process.

    A damaged index of ours is set aside and rebuilt once. One whose notes are to be cut or embedded in another way
    goes on answering, takes up what is written every `refresh_s` seconds, and is replaced at once. Raises
    `BackendError`.
    """
    started = time.monotonic()
    index = job.options.index
    run = _Surroundings(report, refresh_s, idle)
    try:
        # A stranger's file gets no folder of ours and no lock beside it.
        owner_of(index)
        index.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with one_writer(index):
            try:
                sync = _run(job, embedder_for, run)
            except (*DAMAGE, _PresentDamagedError):
                sync = _run(replace(job, damaged=True), embedder_for, run)
    except BrokenPipeError:
        raise  # nobody listens any more
    except (*DAMAGE, apsw.Error, OSError) as error:
        raise _failure(error) from error
    return sync.summary(time.monotonic() - started)


def _failure(error: Exception) -> BackendError:
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return BackendError(Failure.LOCKED, "Another process is writing the index.", hint="It is tried again later.")
    if is_full_disk(error):
        return disk_full()
    name = errno.errorcode.get(error.errno or 0, "OSError") if isinstance(error, OSError) else type(error).__name__
    return BackendError(
        Failure.INDEX_LOST,
        f"The index cannot be written ({name}).",
        hint="Check the rights of its folder, and the disk.",
    )


class _PresentDamagedError(Exception):
    """The index was found damaged while its successor was built."""


@dataclass(frozen=True, slots=True)
class _Model:
    """The model of this run, or why there is none; `expected`: there will be one, so vectors must not be given up."""

    embedder: Embedder | None = None
    notice: dict[str, str] | None = None
    failure: str = ""
    expected: bool = False

    @classmethod
    def of(cls, job: IndexJob, embedder_for: EmbedderFor) -> _Model:
        """Load it, unless it is not wanted."""
        spec = job.options.embedding
        if not job.options.vector_enabled or spec.provider == "none":
            return cls()
        if not job.embed:
            return cls(expected=True)
        try:
            embedder = embedder_for(spec)
        except EmbeddingUnavailableError as error:
            notice = {"code": error.code, "message": error.message, "action": error.hint}
            return cls(notice=notice, failure=error.code, expected=True)
        return cls(embedder, None if embedder else asdict(NO_MODEL))

    def asks_for_successor(self, present: Present, cut: Cut) -> bool:
        """Whether what is there must be replaced, and can be now."""
        if present.is_cut_otherwise(cut):
            return not (self.expected and present.has_vectors)
        return self.embedder is not None and present.has_vectors_of_another(self.embedder.identity)


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """Whom a run reports to, and what it does now and then; see `run_index_job`."""

    report: Report
    refresh_s: float
    idle: Idle


def _run(job: IndexJob, embedder_for: EmbedderFor, around: _Surroundings) -> _Sync:
    options = job.options
    finish_exchange(options.index, options.extension_path)
    if job.purge:
        drop_successor(options.index)
        discard_copies(options.index)
    opened = open_for_writing(options.index, options.extension_path, damaged=job.damaged)
    with closing(opened.connection):
        sync = _Sync(opened, job, around)
        sync.run(embedder_for)
    if sync.replaced:
        take_place(options.index)
    return sync


class _Sync:
    """One run over one index that is open for writing. `replaced`: its successor is whole and may take its place."""

    def __init__(self, opened: Opened, job: IndexJob, around: _Surroundings) -> None:
        self._opened = opened
        self._connection = opened.connection
        self._job = job
        self._report = around.report
        self._idle = around.idle
        self._refresh_s = around.refresh_s
        self._refresh_at = time.monotonic() + around.refresh_s
        self._cut = Cut.of(job.options)
        self._present = Present.of(self._connection)
        self._media = MediaFiles.of_job(job)
        cut = self._present.cut(self._cut)
        self._files = FilePass(self._connection, job.corpus, cut, self._media, around.report)
        self._notice: dict[str, str] | None = None
        self._unembedded: dict[str, str] | None = None
        self._embedding_failure = ""
        self._embedded = self._cached = 0
        self.replaced = False

    def run(self, embedder_for: EmbedderFor) -> None:
        """Words first, so that notes are found while a model is loaded."""
        if not self._present.has_chunks:
            adopt_cut(self._connection, self._cut)
        if self._job.force:
            self._files.forget()
        self._files.run()
        model = _Model.of(self._job, embedder_for)
        self._notice, self._embedding_failure = model.notice, model.failure
        if model.asks_for_successor(self._present, self._cut):
            self._finish()
            self._build_successor(model)
            return
        if model.embedder:
            self._embed(model.embedder)
        else:
            self._align_vec()
        if not model.expected or self._has_lost():
            # A successor that is not built on has not heard of what was deleted.
            drop_successor(self._job.options.index)
        self._finish()

    def _embed(self, embedder: Embedder) -> None:
        stage = EmbeddingPass(
            self._connection,
            embedder,
            self._job.options.cache_entries,
            self._opened.has_vec,
            self._media,
            self._idle,
        )
        self._embedded, self._cached = stage.run(self._report), stage.cached
        self._notice, self._unembedded = stage.notice, stage.refused
        self._embedding_failure = stage.failure.code if stage.failure else ""

    def _build_successor(self, model: _Model) -> None:
        succession = Succession(
            self._job,
            model.embedder,
            report=self._report,
            refreshing=self._refreshing,
            notice=model.notice,
            idle=self._idle,
        )
        self.replaced = succession.build()
        self._notice, self._unembedded = succession.notice, succession.refused
        self._embedding_failure = succession.failure.code if succession.failure else ""
        self._embedded, self._cached = succession.embedded, succession.cached
        if not self.replaced:
            self._finish()

    def _refreshing(self, progress: dict[str, Any]) -> None:
        """Pass progress on, and now and then take up here what was written since: here is what answers."""
        self._report(progress)
        if time.monotonic() < self._refresh_at:
            return
        try:
            self._files.run()
        except DAMAGE as error:
            raise _PresentDamagedError from error
        self._refresh_at = time.monotonic() + self._refresh_s

    def _finish(self) -> None:
        """Write down what this run found, and make the file as small as what it holds."""
        note_sync(
            self._connection,
            has_vec=self._opened.has_vec,
            skipped=self._files.skipped,
            unembedded=self._unembedded,
            embedding_notice=self._notice,
            rebuilt_notice=self._rebuilt(),
        )
        forget_lost(self._connection)
        if self._files.removed:
            forget_words(self._connection)
        if self._job.purge:
            compact(self._connection)
        give_back_pages(self._connection)
        end_log(self._connection)

    def _has_lost(self) -> bool:
        return bool(read_meta(self._connection).get(LOST))

    def _align_vec(self) -> None:
        embedding = read_meta(self._connection).get("embedding")
        if embedding and self._opened.has_vec:
            vec_table.align(self._connection, embedding["dims"])

    def _rebuilt(self) -> dict[str, str] | None:
        if not self._opened.lost:
            return None
        message = f"The index {self._opened.lost}; it was rebuilt from the notes."
        return {"code": "index_rebuilt", "message": message, "action": "If it happens again, check the disk."}

    def summary(self, took_s: float) -> SyncReport:
        """The run as a report."""
        files, notices = self._files, [notice for notice in (self._rebuilt(), self._notice) if notice]
        details = [*(["index_replaced"] if self.replaced else []), *(notice["code"] for notice in notices)]
        return SyncReport(
            engine="builtin",
            embedding_failure=self._embedding_failure,
            ran=bool(self._opened.lost or self.replaced or files.changed or files.removed or self._embedded),
            changed=files.changed,
            removed=files.removed,
            unchanged=files.unchanged,
            embedded=self._embedded,
            cached=self._cached,
            skipped=joined(files.skipped, self._unembedded or {}),
            detail="; ".join(details),
            took_s=took_s,
        )
