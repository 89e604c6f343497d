"""Writing small files so that a reader, or the next start, never sees half of one."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from pathlib import Path

_HALF = ".half"
#: A leading dot, the file's name, and eight characters of `mkstemp`.
_MADE = re.compile(rf"\..+\.[a-z0-9_]{{8}}{re.escape(_HALF)}")


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
        # Only what `write_atomically` can have made; the folder may hold what is others', too.
        if _MADE.fullmatch(file.name) and not file.is_symlink():
            # A folder of that name cannot be unlinked, and stays.
            with contextlib.suppress(OSError):
                file.unlink()
