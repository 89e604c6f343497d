"""Read a gateway's JSONL transcripts (versions 1 to 3): which files count, and what was said in one."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal

import orjson

Role = Literal["user", "assistant"]

MAX_LINE_BYTES: Final = 16 << 20
"""A longer line is a tool's output gone wild; it is counted as bad and skipped without being held in memory."""

# Characters that a session id has; anything else could escape from a file name or a Markdown comment.
_SAFE: Final = r"[A-Za-z0-9_][A-Za-z0-9_.@+=,~-]*"
_PRIMARY: Final = re.compile(rf"(?P<session>{_SAFE})\.jsonl")
_ARCHIVE: Final = re.compile(rf"(?P<session>{_SAFE})\.jsonl\.(?P<why>reset|deleted|bak)\.(?P<at>{_SAFE})")
_BY_PRODUCT: Final = re.compile(r".*\.(?:checkpoint\.[^.]+|trajectory)|.*\.jsonl.*")
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


def find_transcripts(folder: Path) -> list[TranscriptFile]:
    """The transcripts of a folder, by name. Raises OSError when the folder cannot be listed.

    Live sessions and reset archives count. A deleted session counts no more, in none of its files; backups,
    checkpoints, trajectories, links and everything that is no regular file never did.
    """
    with os.scandir(folder) as entries:
        names = {entry.name for entry in entries if entry.is_file(follow_symlinks=False)}
    deleted = {match["session"] for name in names if (match := _ARCHIVE.fullmatch(name)) and match["why"] == "deleted"}
    found = (_describe(folder, name) for name in sorted(names))
    return [file for file in found if file is not None and file.session_id not in deleted]


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
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError("not a regular file")


class Transcript:
    """One pass over an open transcript; memory is bounded by the longest line.

    All branches are read, not only the last one: what was said was said. After the pass `bad_lines` counts what could
    not be read, and `unfinished` tells that the last line was still being written.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.bad_lines = 0
        self.unfinished = False

    def messages(self) -> Iterator[Message]:
        """What user and assistant said, in file order. Raises OSError when the file cannot be read."""
        for number, line in self._lines():
            record = self._record(line)
            message = _message(number, record) if record is not None else None
            if message is not None:
                yield message

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        number = 0
        while line := self._file.readline(MAX_LINE_BYTES):
            number += 1
            if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                self.bad_lines += 1
                self._skip_line()
            elif line.strip():
                yield number, line

    def _skip_line(self) -> None:
        while (rest := self._file.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
            pass

    def _record(self, line: bytes) -> dict[str, Any] | None:
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            record = None
        if isinstance(record, dict):
            return record
        # Part of a JSON object is never a JSON object, so a last line that parses is complete without its line end.
        if line.endswith(b"\n"):
            self.bad_lines += 1
        else:
            self.unfinished = True
        return None


def _message(number: int, record: dict[str, Any]) -> Message | None:
    body = record.get("message")
    if record.get("type") != "message" or not isinstance(body, dict):
        return None
    role = body.get("role")
    if role not in {"user", "assistant"} or (role == "user" and _from_another_session(body)):
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
            return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
            return datetime.fromtimestamp(value if value < _SECONDS_BELOW else value / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None
