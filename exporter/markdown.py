"""One session as Markdown: a heading, a heading for every day, one line for every turn, and the way back.

# Session 0c5d                      the transcript's own name
<!-- qmd-sidecar export of 0c5d.jsonl -->
                                    (blank)
## 2026-11-28
User: the words, on one line
Assistant: a long answer is cut at a space,
Assistant: and every piece has its own label
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator
from datetime import date, tzinfo
from typing import Final

from exporter.transcript import Message

MAX_PIECE_CHARS: Final = 800
"""A longer turn is cut at a space or a stop, in code points, so that a snippet of whole lines stays short."""

_STOPS: Final = "。！？；，、"
_JOINER: Final = "\u200d"
_JOINED: Final = re.compile("[\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
_LABELS: Final = {"user": "User", "assistant": "Assistant"}
_TURNS: Final = tuple(f"{label}: " for label in _LABELS.values())
_DAY: Final = re.compile(r"## (\d{4}-\d\d-\d\d)", re.ASCII)


def marker(transcript_name: str) -> str:
    """The line that says whose export a file is; only a file that carries it is ever replaced or deleted."""
    return f"<!-- qmd-sidecar export of {transcript_name} -->"


def heading(transcript_name: str) -> list[str]:
    """The first lines of an export."""
    return [f"# Session {transcript_name.removesuffix('.jsonl')}", marker(transcript_name)]


class Rendering:
    """Lines of Markdown, made one at a time, and the transcript line that each came from.

    `line_map[n - 1]` is the 1-based transcript line of output line n, 0 for lines that are ours. A rendering goes on
    where an earlier one stopped when it is given what that one had at its end: `line_map`, `turns` and `day`.
    """

    def __init__(
        self,
        transcript_name: str,
        zone: tzinfo,
        *,
        line_map: array[int] | None = None,
        turns: int = 0,
        day: date | None = None,
    ) -> None:
        self._name = transcript_name
        self._zone = zone
        self.line_map = array("I") if line_map is None else line_map
        self.turns = turns
        self.day = day

    def lines(self, messages: Iterable[Message]) -> Iterator[str]:
        """The file, or what is to be appended to it, without line ends; nothing at all when there are no messages."""
        for message in messages:
            if not self.turns:
                yield from self._ours(heading(self._name))
            said_on = message.at.astimezone(self._zone).date() if message.at else self.day
            if said_on != self.day and said_on is not None:
                yield from self._ours(["", f"## {said_on.isoformat()}"])
            elif not self.turns:
                yield from self._ours([""])
            self.day = said_on
            self.turns += 1
            for piece in pieces(message.text):
                self.line_map.append(message.line)
                yield f"{_LABELS[message.role]}: {piece}"

    def _ours(self, lines: list[str]) -> list[str]:
        self.line_map.extend([0] * len(lines))
        return lines


def day_said(lines: Iterable[str], first: int) -> str:
    """The day (ISO) of the first turn from line `first` (1-based) of an export on; empty where none is known."""
    day = ""
    for number, line in enumerate(lines, start=1):
        if found := _DAY.fullmatch(line.rstrip("\n")):
            day = found[1]
        elif number >= first and line.startswith(_TURNS):
            return day
    return day


def pieces(text: str) -> Iterator[str]:
    """The text in pieces of at most `MAX_PIECE_CHARS`, cut at the last space or ideographic stop where there is one."""
    start = 0
    while len(text) - start > MAX_PIECE_CHARS:
        end = _cut(text, start, start + MAX_PIECE_CHARS)
        yield text[start:end]
        start = end + (text[end] == " ")
    yield text[start:]


def _cut(text: str, start: int, limit: int) -> int:
    space = text.rfind(" ", start + 1, limit + 1)
    stop = max(text.rfind(mark, start, limit) for mark in _STOPS) + 1
    if (end := max(space, stop)) > start:
        return end
    return next((end for end in range(limit, start, -1) if not _is_torn(text, end)), limit)


def _is_torn(text: str, end: int) -> bool:
    """Whether a character of several code points would be cut here."""
    return bool(_JOINED.match(text, end)) or text[end - 1] == _JOINER or unicodedata.combining(text[end]) > 0
