"""Keeping an index small: its log bounded, words of deleted notes gone, free pages given back in small steps."""

from __future__ import annotations

import time
from pathlib import Path

import apsw

from backends.base import BackendError, Failure
from backends.builtin.schema import BUSY_TIMEOUT_MS, MAX_WAL_BYTES, fetch_value

#: A log that grew over this is cut before anything more is written.
MAX_LOG_BYTES = 4 * MAX_WAL_BYTES
#: Some searches and scans of ours, one after the other, are over in less: who still reads then is a stranger, or stuck.
_READER_WAIT_MS = 45_000
_ATTEMPT_MS = 500
#: FTS5 writes about so many pages in one step of a merge, and SQLite moves so many in one of a vacuum.
_STEP_PAGES = 256
#: Less than so many free pages, or than this share of the file, is room for the next notes and not waste.
_LEAST_FREE_PAGES = 128
_LEAST_FREE_SHARE = 0.1


def keep_log_short(
    connection: apsw.Connection, *, most_bytes: int = MAX_LOG_BYTES, wait_ms: int = _READER_WAIT_MS
) -> None:
    """Cut the write-ahead log when it is longer than `most_bytes`, waiting for readers of what is in it.

    SQLite begins the log anew only when nobody reads from it: with searches without a break it would grow for ever.
    Raises `BackendError(LOCKED)` when a reader does not let go in time.
    """
    if _log_bytes(connection) <= most_bytes:
        return
    _checkpoint(connection, "TRUNCATE", wait_ms)


def end_log(connection: apsw.Connection) -> None:
    """Leave no log behind for the next start to read, unless searches without a break need it."""
    connection.set_busy_timeout(_ATTEMPT_MS)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)


def store_log(connection: apsw.Connection) -> None:
    """Have everything that is in the log in the file, too. Raises `BackendError(LOCKED)`."""
    _checkpoint(connection, "FULL", BUSY_TIMEOUT_MS)


def _checkpoint(connection: apsw.Connection, mode: str, wait_ms: int) -> None:
    # In short attempts: SQLite waits for the place of a reader that it saw at first, and readers that come later,
    # each before the one before it leaves, may share that place for ever without being in the way.
    give_up_at = time.monotonic() + wait_ms / 1000
    connection.set_busy_timeout(min(wait_ms, _ATTEMPT_MS))
    try:
        while fetch_value(connection, f"PRAGMA wal_checkpoint({mode})"):
            if time.monotonic() > give_up_at:
                raise BackendError(
                    Failure.LOCKED,
                    "A reader has held the index for so long that its log cannot be moved into it.",
                    hint="It is tried again later. Close other programs that have the index open.",
                )
    finally:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)


def _log_bytes(connection: apsw.Connection) -> int:
    try:
        return Path(f"{connection.filename}-wal").stat().st_size
    except OSError:
        return 0


def forget_words(connection: apsw.Connection) -> None:
    """Merge the words of the index, so that those of deleted chunks are no longer in the file."""
    # Negative: begin to merge everything into one; then go on until a step finds nothing more to do.
    pages = -_STEP_PAGES
    while True:
        before = connection.total_changes()
        connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('merge', ?)", (pages,))
        if connection.total_changes() - before < 2:
            return
        keep_log_short(connection)
        pages = _STEP_PAGES


def give_back_pages(connection: apsw.Connection) -> None:
    """Return free pages to the disk, in transactions so small that nobody waits for one."""
    free = connection.pragma("freelist_count")
    if free < _LEAST_FREE_PAGES or free < _LEAST_FREE_SHARE * connection.pragma("page_count"):
        return
    while free:
        connection.execute(f"PRAGMA incremental_vacuum({_STEP_PAGES})").fetchall()
        keep_log_short(connection)
        left = connection.pragma("freelist_count")
        if left >= free:
            return
        free = left
