"""What is at a path, as far as this user may look: a closed folder above it, or a name too long, is nothing there.

`Path.is_dir` and its like raise for these, and one agent's closed folder would be everybody's error.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


def is_there(path: Path) -> bool:
    """Whether anything is there; a link counts as what it leads to."""
    return _stat(path) is not None


def is_folder(path: Path) -> bool:
    """Whether a folder is there."""
    info = _stat(path)
    return info is not None and stat.S_ISDIR(info.st_mode)


def is_file(path: Path) -> bool:
    """Whether a regular file is there."""
    info = _stat(path)
    return info is not None and stat.S_ISREG(info.st_mode)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (OSError, ValueError):
        return None
