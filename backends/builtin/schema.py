"""The index file: its tables, and how to open it for writing and for reading.

`files` and `chunks` are the truth and open to any SQLite. `chunks_fts` (terms made by `backends.text.tokens`) and
`chunks_vec` (sqlite-vec, where it loads) are derived from them. `ownership` decides which files are ever written.
"""

from __future__ import annotations

import os
import threading
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import apsw
import sqlite_vec

from backends.base import BackendError, Failure
from backends.builtin.meta import DamagedError
from backends.builtin.migrations import OLDEST_READABLE_VERSION, SCHEMA_VERSION, lay_out, migrate
from backends.builtin.ownership import (
    APPLICATION_ID,
    Owner,
    discard,
    foreign,
    make_way,
    open_private,
    owner_of,
    set_aside,
    sign,
    stored_version,
)

BUSY_TIMEOUT_MS = 5_000
#: The write-ahead log is cut back to this after a checkpoint, and to nothing at the end of every job.
MAX_WAL_BYTES = 16 * 1024 * 1024
#: A chunk with its vector takes 2 to 3 KB: on SQLite's usual pages of 4 KB half the file would be air.
PAGE_BYTES = 8192
#: The log is moved into the file whenever it has so many pages; fewer where the disk has little room for both.
_LOG_PAGES = 1000
_LEAST_LOG_PAGES = 32
_LOG_SHARE_OF_ROOM = 1 / 16
#: Per reading connection; what one search touches in a large index fits.
READ_CACHE_KIB = 16 * 1024
#: What SQLite, and reading what it gives, raise when a file of ours was damaged. Our own SQL breaks no constraint.
DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.ConstraintError, UnicodeDecodeError, DamagedError)

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
  path TEXT PRIMARY KEY, source TEXT NOT NULL, hash TEXT NOT NULL, mtime INTEGER NOT NULL, size INTEGER NOT NULL,
  root TEXT NOT NULL, relative TEXT NOT NULL, day TEXT
);
CREATE TABLE chunks (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE, path TEXT NOT NULL, source TEXT NOT NULL,
  start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, hash TEXT NOT NULL, model TEXT NOT NULL,
  text TEXT NOT NULL, embedding BLOB NOT NULL, updated_at INTEGER NOT NULL,
  stamp INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX chunks_by_path ON chunks(path);
-- Readers fetch the vectors that came after the ones they hold; 0 is "no vector yet".
CREATE INDEX chunks_by_stamp ON chunks(stamp);
CREATE TABLE embedding_cache (
  provider TEXT NOT NULL, model TEXT NOT NULL, provider_key TEXT NOT NULL, hash TEXT NOT NULL,
  embedding BLOB NOT NULL, dims INTEGER, updated_at INTEGER NOT NULL,
  PRIMARY KEY (provider, model, provider_key, hash)
);
CREATE INDEX embedding_cache_by_age ON embedding_cache(updated_at);
CREATE TABLE embedding_jobs (id TEXT PRIMARY KEY, data TEXT NOT NULL);
CREATE VIRTUAL TABLE chunks_fts USING fts5(
  text, id UNINDEXED, path UNINDEXED, source UNINDEXED, model UNINDEXED, start_line UNINDEXED, end_line UNINDEXED,
  content='', contentless_delete=1, contentless_unindexed=1,
  tokenize="unicode61 remove_diacritics 0 categories 'L* N* M* Co'"
);
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """An index ready for writing: whether sqlite-vec is loaded, and how an earlier one was lost, if one was."""

    connection: apsw.Connection
    has_vec: bool
    lost: str = ""


def open_for_writing(path: Path, extension: Path | None, *, damaged: bool = False) -> Opened:
    """Open or create an index.

    One of ours that is damaged, or that a reader found `damaged`, is set aside under another name and begun anew; one
    of an older version is brought up to date. Raises `BackendError(INDEX_LOST)` for a file of somebody else or of a
    newer version, which stays as it is, `OSError` and `apsw.Error`.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    owner = owner_of(path)
    if owner is Owner.NOBODY:
        lost = "was empty" if make_way(path) else ""
        return _open_checked(path, extension, lost)
    if owner is Owner.OURS_DAMAGED or damaged:
        return _begin_anew(path, extension)
    refuse_newer(stored_version(path))
    try:
        return _open_checked(path, extension, "")
    except DAMAGE:
        return _begin_anew(path, extension)


def open_disposable(path: Path, extension: Path | None) -> Opened:
    """Open or create an index that is only half made: one that is damaged, or too new, is dropped and begun anew.

    Raises like `open_for_writing`.
    """
    if owner_of(path) is not Owner.US or stored_version(path) > SCHEMA_VERSION:
        discard(path)
    try:
        return _open_checked(path, extension, "")
    except DAMAGE:
        discard(path)
        return _open_checked(path, extension, "")


def _begin_anew(path: Path, extension: Path | None) -> Opened:
    aside = set_aside(path)
    return _open_checked(path, extension, f"was damaged and is kept as {aside.name}")


def _open_checked(path: Path, extension: Path | None, lost: str) -> Opened:
    open_private(path)
    sign(path)
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        for pragma in (
            f"page_size={PAGE_BYTES}",
            "journal_mode=wal",
            "synchronous=normal",
            f"journal_size_limit={MAX_WAL_BYTES}",
            f"wal_autocheckpoint={_log_pages(path)}",
            # What was deleted must not stay readable in pages that are free.
            "secure_delete=on",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        if connection.pragma("application_id") != APPLICATION_ID:
            _create(connection)
        refuse_newer(connection.pragma("user_version"))
        migrate(connection)
        _require_tables(connection)
        require_agreement(connection)
        return Opened(connection=connection, has_vec=load_vec(connection, extension), lost=lost)
    except BaseException:
        connection.close()
        raise


def _log_pages(path: Path) -> int:
    """How long the log may become: most of what is in it is in the file too, and a small disk would be full of it."""
    disk = os.statvfs(path.parent)
    room = int(disk.f_bavail * disk.f_frsize * _LOG_SHARE_OF_ROOM) // PAGE_BYTES
    return max(_LEAST_LOG_PAGES, min(_LOG_PAGES, room))


def _require_tables(connection: apsw.Connection) -> None:
    if not _our_tables() <= _tables(connection):
        raise DamagedError("tables")


def require_agreement(connection: apsw.Connection) -> None:
    """Raise `DamagedError` when chunks and words are not of the same number, as after somebody's DELETE.

    Words of chunks that are gone would fill the places of candidates and never be a hit.
    """
    sql = "SELECT (SELECT count(*) FROM chunks) = (SELECT count(*) FROM chunks_fts_docsize)"
    if not fetch_value(connection, sql):
        raise DamagedError("chunks_fts")


@cache
def _our_tables() -> frozenset[tuple[str, str]]:
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute(_TABLES)
        return _tables(connection)


def _tables(connection: apsw.Connection) -> frozenset[tuple[str, str]]:
    """The names and definitions of every table and index."""
    return frozenset(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))


def refuse_newer(version: int) -> None:
    """Raise `BackendError(INDEX_LOST)` for a version that this release does not know."""
    if version > SCHEMA_VERSION:
        raise BackendError(
            Failure.INDEX_LOST,
            f"The index was written by a newer release (version {version}, known is {SCHEMA_VERSION}).",
            hint="Update qmd-sidecar, or move the index file away and sync; it is rebuilt from the notes.",
        )


def _refuse_unreadable(connection: apsw.Connection) -> None:
    version = connection.pragma("user_version")
    refuse_newer(version)
    if connection.pragma("application_id") != APPLICATION_ID or version < OLDEST_READABLE_VERSION:
        raise BackendError(Failure.INDEX_LOST, "The index is empty.", hint="A sync fills it from the notes.")


def _create(connection: apsw.Connection) -> None:
    if _tables(connection):
        raise foreign("a database of another program")
    # Has an effect before the first page only, and a kill at birth leaves one.
    lay_out(connection)
    with connection:
        connection.execute(_TABLES)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", SCHEMA_VERSION)


def open_for_reading(path: Path) -> apsw.Connection:
    """Open an index of ours read-only, with `temp.vocab` over its terms. The file must have been looked at before.

    Raises `apsw.Error`, and `BackendError` for a version that is not ours.
    """
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        _refuse_unreadable(connection)
        connection.execute(f"PRAGMA cache_size=-{READ_CACHE_KIB}")
        connection.execute("CREATE VIRTUAL TABLE temp.vocab USING fts5vocab(main, chunks_fts, row)")
    except BaseException:
        connection.close()
        raise
    return connection


def require_ours(path: Path) -> None:
    """Raise `DamagedError` for an index of ours without a header, `BackendError` for a file of somebody else.

    Looks into a file once in the life of the process: closing any descriptor of a file gives up all of the process's
    locks on it, also those that SQLite holds for a reader. What becomes of the file later SQLite tells.
    """
    info = path.stat()
    file = info.st_dev, info.st_ino
    with _looking:
        if file in _looked_at:
            return
        if owner_of(path) is Owner.OURS_DAMAGED:
            raise DamagedError("header")
        _looked_at.add(file)


_looking = threading.Lock()
_looked_at: set[tuple[int, int]] = set()


def load_vec(connection: apsw.Connection, extension: Path | None) -> bool:
    """Load sqlite-vec; false where it is missing or loads and registers nothing."""
    try:
        connection.enable_load_extension(True)
        try:
            connection.load_extension(str(extension or sqlite_vec.loadable_path()))
        finally:
            connection.enable_load_extension(False)
        connection.execute("SELECT vec_version()").fetchall()
    except (apsw.Error, AttributeError, OSError):
        return False
    return True


def fetch(connection: apsw.Connection, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every row of a query."""
    return list(connection.execute(sql, values))


def fetch_value(connection: apsw.Connection, sql: str, values: tuple[Any, ...] = ()) -> Any:
    """The first column of the first row, None without one."""
    row = connection.execute(sql, values).fetchone()
    return row[0] if row else None
