"""The index file: its tables, its ownership mark, and how to open it for writing and for reading.

`files` and `chunks` are the truth and open to any SQLite. `chunks_fts` (terms made by `backends.tokens`) and
`chunks_vec` (sqlite-vec, where it loads) are derived from them. Only files that carry our `application_id`, or
that are new or empty, are ever written.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import apsw
import orjson
import sqlite_vec

from backends.base import BackendError, Failure

APPLICATION_ID = 0x514D4453  # "QMDS"
SCHEMA_VERSION = 1
BUSY_TIMEOUT_MS = 5_000
#: The write-ahead log is cut back to this after a checkpoint, and to nothing at the end of every job.
MAX_WAL_BYTES = 16 * 1024 * 1024
#: A chunk with its vector takes 2 to 3 KB: on SQLite's usual pages of 4 KB half the file would be air.
PAGE_BYTES = 8192
#: Per reading connection; what one search touches in a large index fits.
READ_CACHE_KIB = 16 * 1024
_HEADER = b"SQLite format 3\0"
_SIDE_FILES = ("-wal", "-shm", "-journal")

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
CREATE VIRTUAL TABLE chunks_fts USING fts5(
  text, id UNINDEXED, path UNINDEXED, source UNINDEXED, model UNINDEXED, start_line UNINDEXED, end_line UNINDEXED,
  content='', contentless_delete=1, contentless_unindexed=1,
  tokenize="unicode61 remove_diacritics 0 categories 'L* N* M* Co'"
);
"""


def open_for_writing(path: Path, extension: Path | None) -> tuple[apsw.Connection, bool]:
    """Open or create an index; the second value says whether sqlite-vec is loaded.

    A damaged index of ours is set aside under another name and begun anew. Raises
    `BackendError(INDEX_LOST)` for a database of somebody else, which stays as it is.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    refuse_foreign(path)
    try:
        return _open_checked(path, extension)
    except (apsw.CorruptError, apsw.NotADBError):
        set_aside(path)
        return _open_checked(path, extension)


def _open_checked(path: Path, extension: Path | None) -> tuple[apsw.Connection, bool]:
    # Created by us first, so that it never exists with wider rights; SQLite gives -wal and -shm the same.
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        for pragma in (
            f"page_size={PAGE_BYTES}",
            "journal_mode=wal",
            "synchronous=normal",
            f"journal_size_limit={MAX_WAL_BYTES}",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        if connection.pragma("application_id") != APPLICATION_ID:
            _create(connection)
        refuse_other_version(connection)
        return connection, load_vec(connection, extension)
    except BaseException:
        connection.close()
        raise


def refuse_other_version(connection: apsw.Connection) -> None:
    """Raise `BackendError(INDEX_LOST)` unless the tables are of our making and of this version."""
    marks = connection.pragma("application_id"), connection.pragma("user_version")
    if marks != (APPLICATION_ID, SCHEMA_VERSION):
        raise BackendError(
            Failure.INDEX_LOST,
            "The index is empty or was written by another version.",
            hint="Move the index file away and sync; it is rebuilt from the notes.",
        )


def _create(connection: apsw.Connection) -> None:
    with connection:
        connection.execute(_TABLES)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", SCHEMA_VERSION)


def open_for_reading(path: Path) -> apsw.Connection:
    """Open an index of ours read-only, with `temp.vocab` over its terms. Raises `apsw.Error`, `BackendError`."""
    refuse_foreign(path)
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        refuse_other_version(connection)
        connection.execute(f"PRAGMA cache_size=-{READ_CACHE_KIB}")
        connection.execute("CREATE VIRTUAL TABLE temp.vocab USING fts5vocab(main, chunks_fts, row)")
    except BaseException:
        connection.close()
        raise
    return connection


def refuse_foreign(path: Path) -> None:
    """Raise `BackendError(INDEX_LOST)` when a file is a SQLite database with another owner than us."""
    try:
        with path.open("rb") as stream:
            header = stream.read(100)
    except FileNotFoundError:
        return
    except OSError as error:
        raise BackendError(
            Failure.INDEX_LOST, f"The index cannot be read ({type(error).__name__}).", hint="Check the file's rights."
        ) from error
    if header.startswith(_HEADER) and int.from_bytes(header[68:72]) not in (APPLICATION_ID, 0):
        raise _foreign()
    if header.startswith(_HEADER) and int.from_bytes(header[68:72]) == 0 and int.from_bytes(header[28:32]) > 1:
        raise _foreign()


def _foreign() -> BackendError:
    return BackendError(
        Failure.INDEX_LOST,
        "The index path holds a database of another program.",
        hint="Point memorySearch.store.path somewhere else.",
    )


def set_aside(path: Path) -> Path:
    """Rename a damaged index and drop its side files, which would poison a new one. Returns the new name."""
    aside = path.with_name(f"{path.name}.damaged-{int(time.time())}")
    path.rename(aside)
    for ending in _SIDE_FILES:
        path.with_name(path.name + ending).unlink(missing_ok=True)
    return aside


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


def read_meta(connection: apsw.Connection) -> dict[str, Any]:
    """Every meta value, decoded."""
    return {key: orjson.loads(value) for key, value in connection.execute("SELECT key, value FROM meta")}


def write_meta(connection: apsw.Connection, **values: Any) -> None:
    """Store JSON-ready meta values."""
    rows = [(key, orjson.dumps(value).decode()) for key, value in values.items()]
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)


def fetch(connection: apsw.Connection, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every row of a query."""
    return list(connection.execute(sql, values))


def fetch_value(connection: apsw.Connection, sql: str, values: tuple[Any, ...] = ()) -> Any:
    """The first column of the first row, None without one."""
    row = connection.execute(sql, values).fetchone()
    return row[0] if row else None
