"""Reading a small file that somebody else wrote, without hanging on it or swallowing a disk."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read_text(path: Path, *, max_bytes: int) -> str:
    """The text of a plain UTF-8 file; a byte order mark is dropped.

    Raises OSError (also for anything but a plain file, and for one above `max_bytes`) and UnicodeDecodeError.
    """
    # The built-in open, since Path.open takes no opener.
    with open(path, "rb", opener=_without_waiting) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError("it is not a plain file")
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise OSError(f"it is larger than {max_bytes} bytes")
    return data.decode("utf-8-sig")


def _without_waiting(path: str, flags: int) -> int:
    # A fifo would otherwise hold the start of the daemon until somebody writes to it.
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
