"""Removing what qmd keeps where qmd itself cannot: an index that is used no more, and one that was set aside."""

from __future__ import annotations

from backends.qmd.home import QmdHome


def discard_index(home: QmdHome) -> None:
    """Remove an index with its log and its copies; the next update makes a new one. Raises `OSError`."""
    discard_copies(home)
    for ending in ("", "-wal", "-shm"):
        home.index.with_name(home.index.name + ending).unlink(missing_ok=True)


def discard_copies(home: QmdHome) -> None:
    """Remove the index that was set aside when it was found damaged. Raises `OSError`."""
    home.index.with_name(f"{home.index.name}.broken").unlink(missing_ok=True)
