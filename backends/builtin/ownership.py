"""Whose file stands at the index path: only what is proven ours is ever written or set aside.

The proof is the `application_id` in the header. For a header that is damaged it is a small file beside the index,
`<index>.owner`, which names the very file (device and inode) that we made: a path in the configuration may point
at somebody's note.
"""

from __future__ import annotations

import glob
import os
import stat
import time
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path

from backends.base import BackendError, Failure
from backends.builtin.locking import gate
from backends.files import write_atomically

APPLICATION_ID = 0x514D4453  # "QMDS"
_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_SIDE_FILES = ("-wal", "-shm", "-journal")


class Owner(Enum):
    """What stands at an index path."""

    NOBODY = auto()
    """Nothing, or an empty file."""
    US = auto()
    OURS_DAMAGED = auto()
    """A file that we made, without a readable header."""


def owner_of(path: Path) -> Owner:
    """Whose the file is. Raises `BackendError(INDEX_LOST)` for what is not ours or cannot be read; opens no device."""
    try:
        header = _header(path)
    except FileNotFoundError:
        return Owner.NOBODY
    except OSError as error:
        raise BackendError(
            Failure.INDEX_LOST, f"The index cannot be read ({type(error).__name__}).", hint="Check the file's rights."
        ) from error
    if not header:
        return Owner.NOBODY
    if not header.startswith(_MAGIC):
        return _ours_by_mark(path, Owner.OURS_DAMAGED)
    application, pages = int.from_bytes(header[68:72]), int.from_bytes(header[28:32])
    if application == APPLICATION_ID:
        return Owner.US
    # A kill right after the birth of an index leaves an unsigned first page.
    if application == 0 and pages <= 1:
        return _ours_by_mark(path, Owner.US)
    raise foreign("a database of another program")


def _header(path: Path) -> bytes:
    # Asked first: opening a device can act on it, and opening a pipe waits.
    if not stat.S_ISREG(path.stat().st_mode):
        raise foreign("something that is no file")
    with path.open("rb") as stream:
        return stream.read(_HEADER_BYTES)


def stored_version(path: Path) -> int:
    """The schema version in the header of an index of ours, as far as it left the log. Raises `OSError`."""
    return int.from_bytes(_header(path)[60:64])


def _ours_by_mark(path: Path, owner: Owner) -> Owner:
    with suppress(OSError):
        if _identity(path) in _mark(path).read_bytes().splitlines(keepends=True):
            return owner
    raise foreign("a file that is not our index")


def foreign(what: str) -> BackendError:
    """The refusal to touch what is not ours."""
    return BackendError(
        Failure.INDEX_LOST,
        f"The index path holds {what}.",
        hint="Point memorySearch.store.path somewhere else, or move that file away.",
    )


def sign(path: Path, *successors: Path) -> None:
    """Write down that we made this very file, and those that may take its place at any moment. Raises `OSError`."""
    mark, identity = _mark(path), b"".join(_identity(file) for file in (path, *successors) if file.exists())
    with suppress(OSError):
        if mark.read_bytes() == identity:
            return
    write_atomically(mark, identity)


def _mark(path: Path) -> Path:
    return path.with_name(f"{path.name}.owner")


def _identity(path: Path) -> bytes:
    info = path.stat()
    return b"qmd-sidecar index %d:%d\n" % (info.st_dev, info.st_ino)


def set_aside(path: Path) -> Path:
    """Rename a damaged index and drop its side files, which would poison a new one. Returns the new name.

    Only the newest is kept: a bad disk must not be filled with copies of what the notes hold anyway.
    """
    older = list(path.parent.glob(f"{glob.escape(path.name)}.damaged-*"))
    aside = path.with_name(f"{path.name}.damaged-{time.time_ns() // 1_000_000}")
    with gate(path, exclusive=True):
        path.rename(aside)
        discard_side_files(path)
    for file in older:
        file.unlink(missing_ok=True)
    return aside


def make_way(path: Path) -> bool:
    """Clear the place of an index of ours that was deleted or cut to nothing; whether an empty file stood there.

    Readers of a file that was cut still hold its log, and as long as they do SQLite calls it locked: a new file under
    the same name is free, and tells them to let go.
    """
    if not _mark(path).exists():
        return False
    emptied = path.exists()
    discard(path)
    return emptied


def discard(path: Path) -> None:
    """Remove an index of ours with everything beside it."""
    with gate(path, exclusive=True):
        path.unlink(missing_ok=True)
        discard_side_files(path)


def discard_side_files(path: Path) -> None:
    """Remove the log, its index, the journal and the mark of an index that is gone."""
    _discard_log(path)
    _mark(path).unlink(missing_ok=True)


def _discard_log(path: Path) -> None:
    for ending in _SIDE_FILES:
        path.with_name(path.name + ending).unlink(missing_ok=True)


def exchange(successor: Path, path: Path) -> None:
    """Put `successor` in the place of an index at once. Both must be closed by us, and no log may hold anything.

    Readers that hold the old file keep it. The log goes first: a kill in between leaves the old index, whole, and
    the next exchange succeeds. Beside the new file an old log would be taken for its own. Raises `OSError`.
    """
    sign(path, successor)
    with gate(path, exclusive=True):
        _discard_log(path)
        successor.replace(path)
    discard_side_files(successor)
    sign(path)


def open_private(path: Path) -> None:
    """Create the file by ourselves, so that it never exists with wider rights; SQLite gives its side files the same."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
