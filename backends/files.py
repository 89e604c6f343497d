"""Writing small files so that a reader, or the next start, never sees half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_HALF = ".half"


def write_atomically(file: Path, data: bytes) -> None:
    """Replace `file` by `data` at once, 0600. Raises `OSError` and leaves the old file as it was."""
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=_HALF, dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def drop_half_written(folder: Path) -> None:
    """Remove what writers below `folder` left that were killed while they wrote. Nobody may be writing there."""
    for file in folder.rglob(f".*{_HALF}"):
        file.unlink(missing_ok=True)
