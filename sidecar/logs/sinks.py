"""Where lines go: a descriptor that was open when the daemon began, or a file that turns over at its limit."""

from __future__ import annotations

import contextlib
import os
import select
import stat
from pathlib import Path
from typing import Protocol

MAX_FILE_BYTES = 10_000_000
KEPT_FILES = 3
_APPENDING = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK


class Sink(Protocol):
    """A place for lines."""

    def write(self, line: bytes) -> None:
        """Write one line with its end; may block. Raises OSError."""

    def reopen(self) -> None:
        """Open what has a name anew with the next line."""

    def close(self) -> None:
        """Give up what was opened."""


class Descriptor:
    """Standard error. Written past Python's buffer, whose lock a blocked thread would hold at the end."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, line: bytes) -> None:
        """Write the whole line; waits for a slow reader."""
        _write(self._descriptor, line)

    def reopen(self) -> None:
        """Nothing: it has no name."""

    def close(self) -> None:
        """Nothing: it is not ours."""


class RotatedFile:
    """A file of at most `max_bytes`, with `kept` older ones beside it: `x.log`, `x.log.1`, .. `x.log.<kept>`.

    It is ours alone (0600). When somebody else moves or removes it, the next line begins a new one.
    """

    def __init__(self, path: Path, *, max_bytes: int = MAX_FILE_BYTES, kept: int = KEPT_FILES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._kept = kept
        self._descriptor = -1

    def open(self) -> None:
        """Open the file. Raises OSError."""
        descriptor = os.open(self._path, _APPENDING, 0o600)
        try:
            # A daemon that was killed, or a disk that was full, may have left half a line.
            whole = _ends_whole(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        if not whole:
            _write(descriptor, b"\n")

    def write(self, line: bytes) -> None:
        """Append a line. Raises OSError; the file is opened anew with the next line then."""
        try:
            if self._has_moved():
                self.close()
                self.open()
            if self._is_full(len(line)):
                self._turn_over()
            _write(self._descriptor, line)
        except OSError:
            self.close()
            raise

    def reopen(self) -> None:
        """Open the file of this name with the next line, after logrotate has moved ours."""
        self.close()

    def close(self) -> None:
        """Close the file."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _has_moved(self) -> bool:
        if self._descriptor < 0:
            return True
        try:
            return not os.path.samestat(os.stat(self._path), os.fstat(self._descriptor))  # noqa: PTH116 - hot
        except FileNotFoundError:
            return True

    def _is_full(self, more: int) -> bool:
        info = os.fstat(self._descriptor)
        return stat.S_ISREG(info.st_mode) and info.st_size > 0 and info.st_size + more > self._max_bytes

    def _turn_over(self) -> None:
        for older in range(self._kept, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                turned(self._path, older - 1).replace(turned(self._path, older))
        self.close()
        self.open()


def turned(path: Path, times: int) -> Path:
    """The name of a log file after it has been turned over so many times."""
    return path.with_name(f"{path.name}.{times}") if times else path


def _ends_whole(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


def _write(descriptor: int, line: bytes) -> None:
    left = memoryview(line)
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BlockingIOError:
            # Whoever shares the pipe with us may have made it so; waiting here keeps only this thread.
            select.select([], [descriptor], [])
