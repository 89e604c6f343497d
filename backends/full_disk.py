"""Telling a full disk from what asks for another remedy."""

from __future__ import annotations

import errno

import apsw

_FULL = (errno.ENOSPC, errno.EDQUOT)


def is_full_disk(error: BaseException | None) -> bool:
    """Whether a full disk, or a used up quota, is behind an error or behind what it was raised in handling."""
    while error is not None:
        if _is_full(error):
            return True
        # SQLite rolls back by itself on a full disk, and apsw's own attempt then hides the reason.
        error = error.__context__
    return False


def _is_full(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno in _FULL
    # The second: no room for the few KB that the readers and the writer of a log share.
    return isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE
