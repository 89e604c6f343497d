"""The export folder: whole files at 0600, and nothing of anybody else's touched.

Every step goes through one open descriptor of the folder: a link put in its place in the meantime changes nothing.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

from exporter.markdown import heading, marker

_TEMPORARY: Final = ".qmd-sidecar-"
_MARKER_PREFIX, _MARKER_SUFFIX = marker("\0").split("\0")
_HEAD_BYTES: Final = 1024


class ForeignFileError(OSError):
    """A file that we did not write stands where an export belongs."""


class ExportFolder:
    """An export folder, made at 0700 when missing. Raises OSError when it cannot be used."""

    def __init__(self, path: Path) -> None:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def names(self) -> set[str]:
        """Everything in the folder, ours or not."""
        with os.scandir(self._fd) as entries:
            return {entry.name for entry in entries}

    def size_bytes(self, name: str) -> int | None:
        """The size of a regular file; None when there is none of this name."""
        try:
            facts = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return facts.st_size if stat.S_ISREG(facts.st_mode) else None

    def owner(self, name: str) -> str | None:
        """The transcript that a file is our export of; None for a file that is not ours, or no file."""
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._fd)
        except OSError:
            return None
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return None
            lines = file.read(_HEAD_BYTES).decode("utf-8", "replace").split("\n")
        if len(lines) < 2 or not (lines[1].startswith(_MARKER_PREFIX) and lines[1].endswith(_MARKER_SUFFIX)):
            return None
        owner = lines[1][len(_MARKER_PREFIX) : -len(_MARKER_SUFFIX)]
        return owner if lines[:2] == heading(owner) else None

    def write(self, name: str, transcript: str, lines: Iterable[str]) -> int:
        """Write a file whole or not at all; its size in bytes, 0 (and no file) when there are no lines.

        Raises ForeignFileError before anything is written when the place is taken by a file that is not ours.
        """
        if self._is_taken(name) and self.owner(name) != transcript:
            raise ForeignFileError(f"{name} was not written by us")
        temporary = f"{_TEMPORARY}{name}.tmp"
        self._unlink(temporary)
        fd = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self._fd
        )
        try:
            with os.fdopen(fd, "wb", buffering=1 << 16) as file:
                for line in lines:
                    file.write(line.encode() + b"\n")
                size = file.tell()
            if size:
                os.replace(temporary, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        finally:
            self._unlink(temporary)
        return size

    def remove(self, name: str, transcript: str) -> bool:
        """Delete our own export of a transcript; False, and nothing done, for a file that is not that."""
        if self.owner(name) != transcript:
            return False
        self._unlink(name)
        return True

    def remove_leftovers(self) -> None:
        """Delete what a killed run left half-written."""
        for name in self.names():
            if name.startswith(_TEMPORARY) and name.endswith(".tmp"):
                self._unlink(name)

    def _is_taken(self, name: str) -> bool:
        try:
            os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def _unlink(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._fd)
