"""The mark of a `qmd` that only asks the daemon: `sidecar.shim` makes such files, and nobody must take one for qmd."""

from __future__ import annotations

from pathlib import Path

#: Stands in the first lines of each.
MARK = "the qmd look-alike of qmd-sidecar"


def is_one(file: Path) -> bool:
    """Whether a file, or what a link leads to, is marked."""
    try:
        with file.open("rb") as stream:
            return MARK.encode() in stream.read(512)
    except OSError:
        return False
