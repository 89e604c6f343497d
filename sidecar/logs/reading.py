"""The log again, from its files: the last lines across rotation, and then those to come.

`Log` is what `qmd-sidecar logs` asks; journald is the other one (`journal`). Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import count, islice
from pathlib import Path
from typing import BinaryIO, Protocol

from sidecar.logs.entry import Entry, parsed
from sidecar.logs.rendering import moment
from sidecar.logs.sinks import turned

LEVELS = ("debug", "info", "warning", "error", "critical")
_BLOCK_BYTES = 65_536
_PAUSE_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which entries: of this level and above, written since then, about one agent."""

    level: str = "debug"
    since: datetime | None = None
    agent: str | None = None

    def takes(self, entry: Entry) -> bool:
        """Whether an entry is wanted. What is no entry of ours, such as the stacks of a crash, has level `info`."""
        level = entry.get("level", "info")
        grave = level not in LEVELS or LEVELS.index(level) >= LEVELS.index(self.level)
        return grave and self.agent in (None, entry.get("agent")) and not self.is_past(entry)

    def is_past(self, entry: Entry) -> bool:
        """Whether an entry, and with it each before it, is too old."""
        at = moment(entry)
        return self.since is not None and at is not None and at < self.since


class Log(Protocol):
    """A log that can be read."""

    def latest(self, wanted: Wanted, most: int) -> list[Entry]:
        """The last entries that are wanted, oldest first."""

    def follow(self) -> Iterator[Entry]:
        """Every entry after those that `latest` looked at, when it is written; without end."""

    def close(self) -> None:
        """Close what `latest` has opened."""


def last(entries: Iterable[Entry], wanted: Wanted, most: int) -> list[Entry]:
    """The wanted among entries that come newest first, the oldest first."""

    def young() -> Iterator[Entry]:
        for entry in entries:
            if wanted.is_past(entry):
                return
            if wanted.takes(entry):
                yield entry

    return [*islice(young(), most)][::-1]


class LogFiles:
    """A log file and the older ones beside it. `pause` is called when there is nothing new."""

    def __init__(self, path: Path, *, pause: Callable[[], None] = lambda: time.sleep(_PAUSE_S)) -> None:
        self._path = path
        self._pause = pause
        self._file: BinaryIO | None = None

    def latest(self, wanted: Wanted, most: int) -> list[Entry]:
        """The last entries that are wanted, oldest first. Raises FileNotFoundError when there is no log."""
        with contextlib.ExitStack() as stack:
            # All of them first: one that turns over meanwhile would be read twice.
            paths = [*self._generations()]
            files = [stack.enter_context(path.open("rb")) for path in paths]
            if not files:
                raise FileNotFoundError(self._path)
            self._begin(paths[0], at=_whole_bytes(files[0]))
            return last((parsed(line) for file in files for line in _backwards(file)), wanted, most)

    def follow(self) -> Iterator[Entry]:
        """Every later entry, over rotation and truncation."""
        while True:
            yield from self._grown()
            if newer := self._newer():
                for path in newer:
                    self._begin(path, at=0)
                    yield from self._grown()
            elif not self._was_truncated():
                self._pause()

    def close(self) -> None:
        """Close the file that was read last."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _begin(self, path: Path, *, at: int) -> None:
        self.close()
        with contextlib.suppress(FileNotFoundError):
            self._file = path.open("rb")
            self._file.seek(at)

    def _grown(self) -> Iterator[Entry]:
        if self._file is None:
            return
        for line in iter(self._file.readline, b""):
            if not line.endswith(b"\n"):
                # Half of it; the rest is on its way.
                self._file.seek(-len(line), os.SEEK_CUR)
                return
            yield parsed(_text(line))

    def _newer(self) -> list[Path]:
        """The files that were begun after ours, the oldest first."""
        paths = list(self._generations())
        if self._file is None:
            return paths[:1]
        ours = os.fstat(self._file.fileno())
        at = next((at for at, path in enumerate(paths) if _is(path, ours)), None)
        # Removed: what goes on is the file of that name, and the older ones were seen.
        return paths[:at][::-1] if at is not None else [path for path in paths[:1] if path == self._path]

    def _was_truncated(self) -> bool:
        """Whether what was read is gone; the file is read from its beginning then."""
        if self._file is None or os.fstat(self._file.fileno()).st_size >= self._file.tell():
            return False
        self._file.seek(0)
        return True

    def _generations(self) -> Iterator[Path]:
        """The files there are, the newest first; while they turn over the first one is missing.

        A FIFO or a folder in the place of one is none: to open it would wait for a writer, or fail.
        """
        if self._path.is_file():
            yield self._path
        for times in count(1):
            if not (older := turned(self._path, times)).is_file():
                return
            yield older


def _is(path: Path, info: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.stat(), info)
    except FileNotFoundError:
        return False


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\n")


def _whole_bytes(file: BinaryIO) -> int:
    """Where the last whole line ends."""
    end = file.seek(0, os.SEEK_END)
    while end:
        begin = max(0, end - _BLOCK_BYTES)
        file.seek(begin)
        found = file.read(end - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def _backwards(file: BinaryIO) -> Iterator[str]:
    """The whole lines of a file, the last first; a block at a time, since somebody else's rotation knows no limit."""
    end, tail = _whole_bytes(file), b""
    while end:
        begin = max(0, end - _BLOCK_BYTES)
        file.seek(begin)
        head, *lines = (file.read(end - begin) + tail).split(b"\n")
        yield from (_text(line) for line in reversed(lines) if line)
        end, tail = begin, head
    if tail:
        yield _text(tail)
