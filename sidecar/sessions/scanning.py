"""The proof: files read byte by byte for what must not be in them. Runs in the worker process."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import re2

from exporter import compile_pattern

_BLOCK_BYTES: Final = 1 << 20
_OVERLAP_BYTES: Final = 1 << 16
"""A match may be so long and is found wherever one block ends and the next begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanJob:
    """What to look for, and where; JSON as it stands.

    Either `pattern`, or `telling` texts of which one that stands in a note or in another conversation tells nothing.
    `folders` are walked, `files` looked at; `notes` are the user's own. `exports` are the conversations that stay.
    """

    pattern: str
    telling: Sequence[str]
    folders: Sequence[str]
    files: Sequence[str]
    notes: Sequence[str]
    exports: Sequence[str]


@dataclass(slots=True, kw_only=True)
class Scanned:
    """What was looked at, and where something is left: matches by file, lines by note. `unread` could not be read.

    `wanted` is how many texts were looked for, 1 for a pattern; with 0 nothing is proven.
    """

    wanted: int = 0
    files: int = 0
    bytes: int = 0
    remaining: dict[str, int] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)


def scan(job: ScanJob, alive: Callable[[], None] = lambda: None) -> Scanned:
    """Read everything that the job names."""
    texts = [] if job.pattern else _telling(job, alive)
    wanted = compile_pattern(job.pattern or "|".join(map(re2.escape, texts))) if job.pattern or texts else None
    found = Scanned(wanted=1 if job.pattern else len(texts))
    for path in _paths(job):
        size, count = _each(path, found, lambda file: _matches(file, wanted, alive))
        found.files += 1
        found.bytes += size
        if count:
            found.remaining[path] = count
    for path in job.notes if job.pattern else ():
        _, lines = _each(path, found, lambda file: (0, _lines(file.read(), wanted)))
        alive()
        if lines:
            found.notes[path] = lines
    return found


def _telling(job: ScanJob, alive: Callable[[], None]) -> list[str]:
    """The texts that stand in nothing that stays."""
    telling = {text.encode("utf-8", "replace") for text in job.telling}
    for path in (*job.notes, *job.exports):
        alive()
        _, held = _each(path, Scanned(), lambda file: (0, file.read()))
        telling = {text for text in telling if not held or text not in held}
    return sorted(text.decode() for text in telling)


def _paths(job: ScanJob) -> Iterator[str]:
    yield from job.files
    for folder in job.folders:
        for top, _, names in os.walk(folder):
            yield from (f"{top}/{name}" for name in names)


def _each(path: str, found: Scanned, look: Callable[[Any], tuple[int, Any]]) -> tuple[int, Any]:
    """Look into a regular file; one that is gone holds nothing."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0, 0
    except OSError:
        if not Path(path).is_symlink():
            found.unread.append(path)
        return 0, 0
    with os.fdopen(fd, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return 0, 0
        try:
            size, count = look(file)
        except OSError:
            found.unread.append(path)
            return 0, 0
    return size, count


def _matches(file: Any, wanted: Any, alive: Callable[[], None]) -> tuple[int, int]:
    size, count, tail = 0, 0, b""
    while block := file.read(_BLOCK_BYTES):
        alive()
        size += len(block)
        data = tail + block
        if wanted is not None:
            # What ends in the tail was counted with the block before.
            count += sum(match.end() > len(tail) for match in wanted.finditer(data))
        tail = data[-_OVERLAP_BYTES:]
    return size, count


def _lines(data: bytes, wanted: Any) -> int:
    lines, seen, ends = set(), 0, 0
    for match in wanted.finditer(data):
        ends += data.count(b"\n", seen, match.start())
        seen = match.start()
        lines.add(ends)
    return len(lines)
