"""The export folder: whole files at 0600, and nothing of anybody else's touched.

Every step goes through one open descriptor of the folder: a link put in its place in the meantime changes nothing.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, Self

from exporter.markdown import heading, marker
from exporter.transcript import READ_FLAGS, opened

_TEMPORARY_PREFIX: Final = ".qmd-sidecar-"
# One name for all: a folder has one writer, and a name that can be written can be longer than one with a prefix.
_TEMPORARY: Final = f"{_TEMPORARY_PREFIX}export.tmp"
_MARKER_PREFIX, _MARKER_SUFFIX = marker("\0").split("\0")
_HEAD_BYTES: Final = 1024


class ForeignFileError(OSError):
    """A file that we did not write stands where an export belongs."""


class ExportFolder:
    """An export folder, made at 0700 when missing. Raises OSError when it cannot be used.

    With `dry`, nothing in it is written or deleted; every method still says what it would have done.
    """

    def __init__(self, path: Path, *, dry: bool = False) -> None:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._dry = dry
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
            with self._opened(name) as file:
                lines = file.read(_HEAD_BYTES).decode("utf-8", "replace").split("\n")
        except OSError:
            return None
        if len(lines) < 2 or not (lines[1].startswith(_MARKER_PREFIX) and lines[1].endswith(_MARKER_SUFFIX)):
            return None
        owner = lines[1][len(_MARKER_PREFIX) : -len(_MARKER_SUFFIX)]
        return owner if lines[:2] == heading(owner) else None

    def lines(self, name: str) -> Iterator[str]:
        """The lines of an export without their ends; none when there is no such file."""
        with contextlib.suppress(FileNotFoundError), self._opened(name) as file:
            for line in file:
                yield line.decode("utf-8", "replace").removesuffix("\n")

    def write(self, name: str, transcript: str, lines: Iterable[str], *, keep: int = 0) -> int:
        """Write a file whole or not at all; its size in bytes, 0 (and no file) when it has no lines.

        The first `keep` bytes of the file that is there stay. Without a line to add to them nothing is written.
        Raises ForeignFileError before anything is written when the place is taken by a file that is not ours.
        """
        if self._is_taken(name) and self.owner(name) != transcript:
            raise ForeignFileError(f"{name} was not written by us")
        whole = (line.encode() + b"\n" for line in lines)
        first = next(whole, None)
        if first is None:
            return keep
        rest = itertools.chain([first], whole)
        return keep + sum(map(len, rest)) if self._dry else self._replace(name, rest, keep)

    def _replace(self, name: str, lines: Iterable[bytes], keep: int) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._unlink(_TEMPORARY)
        try:
            with os.fdopen(os.open(_TEMPORARY, flags, 0o600, dir_fd=self._fd), "wb", buffering=1 << 16) as file:
                if keep:
                    self._copy(name, file, keep)
                file.writelines(lines)
                size = file.tell()
            os.replace(_TEMPORARY, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        finally:
            self._unlink(_TEMPORARY)
        return size

    def _copy(self, name: str, into: BinaryIO, size: int) -> None:
        with self._opened(name) as file:
            if os.fstat(file.fileno()).st_size != size:
                raise OSError("the export changed while it was read")
            shutil.copyfileobj(file, into, 1 << 20)

    def _opened(self, name: str) -> BinaryIO:
        """A regular file for reading; never follows a link and never waits on a pipe. Raises OSError."""
        return opened(os.open(name, READ_FLAGS, dir_fd=self._fd))

    def remove(self, name: str, transcript: str) -> bool:
        """Delete our own export of a transcript; False, and nothing done, for a file that is not that."""
        if self.owner(name) != transcript:
            return False
        if not self._dry:
            self._unlink(name)
        return True

    def remove_leftovers(self) -> None:
        """Delete what a killed run left half-written."""
        for name in () if self._dry else self.names():
            if name.startswith(_TEMPORARY_PREFIX) and name.endswith(".tmp"):
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
