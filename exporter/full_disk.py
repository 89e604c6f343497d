"""Telling a full disk from what asks for another remedy."""

from __future__ import annotations

import errno
from typing import Final

import apsw

_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


def is_full(error: OSError | apsw.Error) -> bool:
    """Whether a full disk, or a used up quota, is behind an error."""
    if isinstance(error, OSError):
        return error.errno in _FULL
    # The second: no room for the few KB that the readers and the writer of a log share.
    return isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE
