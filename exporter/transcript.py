"""Read a gateway's JSONL transcripts (versions 1 to 3): which files count, and what was said in one."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal

from exporter.json_text import parsed

Role = Literal["user", "assistant"]

READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Never follow a link, never wait on a pipe."""

MAX_LINE_BYTES: Final = 16 << 20
"""A longer line is a tool's output gone wild; it is counted as bad and skipped without being held in memory."""

# Characters that a session id has; anything else could escape from a file name or a Markdown comment.
_SAFE: Final = r"[A-Za-z0-9_][A-Za-z0-9_.@+=,~-]*"
_PRIMARY: Final = re.compile(rf"(?P<session>{_SAFE})\.jsonl")
_ARCHIVE: Final = re.compile(rf"(?P<session>{_SAFE})\.jsonl\.(?P<why>reset|deleted|bak)\.(?P<at>{_SAFE})")
_BY_PRODUCT: Final = re.compile(r".*\.(?:checkpoint\.[^.]+|trajectory)|.*\.jsonl.*")
# So much of the beginning, and of what stands before a bookmark, tells that a file only grew since.
_SEEN_BYTES: Final = 1 << 16
_SECONDS_BELOW: Final = 1e11  # a number of seconds; from here on it is milliseconds


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """A transcript that counts: `name` in its folder, its session, and what tells that it changed."""

    name: str
    session_id: str
    archived: bool
    size_bytes: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Message:
    """One thing that the user or the assistant said, raw; `line` is its 1-based line in the transcript."""

    line: int
    role: Role
    text: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Listing:
    """The transcripts of a folder that count, by name, and the ids of the sessions that were archived as deleted."""

    files: tuple[TranscriptFile, ...]
    deleted: frozenset[str]


def find_transcripts(folder: Path) -> Listing:
    """The transcripts of a folder. Raises OSError when the folder cannot be listed.

    Live sessions and reset archives count. A deleted session counts no more, in none of its files; backups,
    checkpoints, trajectories, links and everything that is no regular file never did.
    """
    with os.scandir(folder) as entries:
        names = {entry.name for entry in entries if entry.is_file(follow_symlinks=False)}
    archives = (_ARCHIVE.fullmatch(name) for name in names)
    deleted = frozenset(match["session"] for match in archives if match and match["why"] == "deleted")
    found = (_describe(folder, name) for name in sorted(names))
    return Listing(tuple(file for file in found if file and file.session_id not in deleted), deleted)


def session_of(name: str) -> str:
    """The session id in a transcript's name; empty for a name that is none."""
    match = _PRIMARY.fullmatch(name) or _ARCHIVE.fullmatch(name)
    return match["session"] if match else ""


def is_transcript(name: str) -> bool:
    """Whether a file of this name says something about a session: that it goes on, was reset, or deleted."""
    match = _PRIMARY.fullmatch(name) or _ARCHIVE.fullmatch(name)
    return match is not None and not _BY_PRODUCT.fullmatch(match["session"]) and match.groupdict().get("why") != "bak"


def _describe(folder: Path, name: str) -> TranscriptFile | None:
    primary = _PRIMARY.fullmatch(name)
    archive = None if primary else _ARCHIVE.fullmatch(name)
    match = primary or archive
    if match is None or _BY_PRODUCT.fullmatch(match["session"]) or (archive and archive["why"] != "reset"):
        return None
    try:
        facts = (folder / name).lstat()
    except FileNotFoundError:  # gone since the listing
        return None
    return TranscriptFile(name, match["session"], archive is not None, facts.st_size, facts.st_mtime_ns)


def open_transcript(path: Path) -> BinaryIO:
    """Open a transcript for reading; never follows a link and never waits on a pipe. Raises OSError."""
    return opened(os.open(path, READ_FLAGS))


def opened(fd: int) -> BinaryIO:
    """A file of a descriptor, which it owns from here on. Raises OSError for anything but a regular file."""
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return os.fdopen(fd, "rb")
    os.close(fd)
    raise OSError("not a regular file")


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Where reading stopped: `offset` in bytes, behind a whole line, and the number of `lines` up to there.

    `session_key` is the last one that a record named. `seen` is a digest of the file's identity and of what stands at
    its beginning and before the offset.
    """

    offset: int = 0
    lines: int = 0
    session_key: str = ""
    seen: str = ""

    def holds(self, file: BinaryIO) -> bool:
        """Whether an open transcript only grew since. Raises OSError."""
        return os.fstat(file.fileno()).st_size >= self.offset and _seen(file, self.offset) == self.seen


def _seen(file: BinaryIO, offset: int) -> str:
    digest = sha256(str(os.fstat(file.fileno()).st_ino).encode())
    for start, end in ((0, min(offset, _SEEN_BYTES)), (max(0, offset - _SEEN_BYTES), offset)):
        digest.update(os.pread(file.fileno(), end - start, start))
    return digest.hexdigest()


class Transcript:
    """One pass over an open transcript, from a bookmark on; memory is bounded by the longest line.

    All branches are read, not only the last one: what was said was said. What stands under a session key that
    `is_chore` is left out. After the pass `bad_lines` counts what could not be read, `session_key` is the last one
    that a record named, and `unfinished` tells that the last line was still being written.
    """

    def __init__(
        self, file: BinaryIO, start: Bookmark = Bookmark(), *, is_chore: Callable[[str], bool] = lambda key: False
    ) -> None:
        file.seek(start.offset)
        self._file = file
        self._is_chore = is_chore
        self._offset, self._number = start.offset, start.lines
        self._whole = True
        self.session_key = start.session_key
        self.bad_lines = 0
        self.unfinished = False

    def messages(self) -> Iterator[Message]:
        """What user and assistant said, in file order. Raises OSError when the file cannot be read."""
        for number, line in self._lines():
            record = self._record(line)
            message = self._said(number, record) if record is not None else None
            if message is not None:
                yield message

    def bookmark(self) -> Bookmark | None:
        """Where to go on when the file has grown, after the pass; None when its last line was read without its end."""
        if not self._whole:
            return None
        return Bookmark(self._offset, self._number, self.session_key, _seen(self._file, self._offset))

    def _said(self, number: int, record: dict[str, Any]) -> Message | None:
        key = record.get("sessionKey")
        if isinstance(key, str) and key:
            self.session_key = key
        return None if self._is_chore(self.session_key) else _message(number, record)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        while line := self._file.readline(MAX_LINE_BYTES):
            size, ended = len(line), line.endswith(b"\n")
            if size == MAX_LINE_BYTES and not ended:
                rest, ended = self._skip_line()
                size, line = size + rest, b""
                self.bad_lines += ended
            if not ended and (not line or _parsed(line) is None):
                self.unfinished = True
                return
            self._number += 1
            self._offset += size
            self._whole = ended
            if line.strip():
                yield self._number, line

    def _skip_line(self) -> tuple[int, bool]:
        """The size of the rest of a line, and whether it has an end."""
        size = 0
        while rest := self._file.readline(MAX_LINE_BYTES):
            size += len(rest)
            if rest.endswith(b"\n"):
                return size, True
        return size, False

    def _record(self, line: bytes) -> dict[str, Any] | None:
        record = _parsed(line)
        self.bad_lines += record is None
        return record


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The record of a line; None for anything else. Part of a JSON object is never a JSON object."""
    try:
        record = parsed(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _message(number: int, record: dict[str, Any]) -> Message | None:
    body = record.get("message")
    if record.get("type") != "message" or not isinstance(body, dict):
        return None
    role = body.get("role")
    if role not in ("user", "assistant") or (role == "user" and _from_another_session(body)):
        return None
    text = _text(body.get("content"))
    if not text:
        return None
    at = _moment(body.get("timestamp")) or _moment(record.get("timestamp"))
    return Message(number, role, text, at)


def _from_another_session(body: dict[str, Any]) -> bool:
    provenance = body.get("provenance")
    return isinstance(provenance, dict) and provenance.get("kind") == "inter_session"


def _text(content: object) -> str:
    """The text blocks of a message; thinking, tool calls, tool results and images are not text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = (block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text")
    return "\n".join(text for text in blocks if isinstance(text, str))


def _moment(value: object) -> datetime | None:
    """ISO text, or seconds or milliseconds since 1970; None for anything else."""
    try:
        if isinstance(value, str):
            parsed = datetime.fromisoformat(value)
            # At the ends of the calendar, the day that it is elsewhere may not exist.
            return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)) if 1 < parsed.year < MAXYEAR else None
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
            parsed = datetime.fromtimestamp(value if value < _SECONDS_BELOW else value / 1000, UTC)
            return parsed if parsed.year < MAXYEAR else None
    except (ValueError, OverflowError, OSError):
        pass
    return None
