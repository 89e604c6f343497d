"""Writing small files so that a reader, or the next start, never sees half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(file: Path, data: bytes) -> None:
    """Replace `file` by `data` at once, 0600. Raises `OSError` and leaves the old file as it was."""
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
