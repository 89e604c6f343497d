"""What a terminal can show: colour, links, and text that cannot take it over.

Memory text is data. On a terminal an escape sequence inside it could move the cursor, change the title or
forge output, so control characters are shown as the replacement character.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LINE_ENDS = re.compile(r"[\n\t\u2028\u2029]")
#: Every sign beyond ASCII that the screens use, with what stands for it elsewhere.
_ASCII = {"●": "*", "◐": "~", "▲": "!", "✖": "x", "○": "-", "←": "<-", "…": "..", "·": "|"}
_SYMBOLS = "".join(_ASCII)
#: Terminals whose font is not known to have more than ASCII and some line drawing.
_PLAIN_TERMINALS = ("dumb", "linux")


def printable(text: str) -> str:
    """The text with everything gone that a terminal would obey; line ends and tabs stay."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """`printable` for what stands in a line, such as a name: a line end in it must not begin another one."""
    return _LINE_ENDS.sub("\ufffd", printable(text))


def wants_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether to colour this stream: `NO_COLOR`, then `FORCE_COLOR`, then a terminal that is not dumb."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return can_redraw(stream, environ)


def can_redraw(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether what a stream shows can be replaced: it is a terminal that moves its cursor."""
    return stream.isatty() and environ.get("TERM") != "dumb"


def can_show(text: str, stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether a stream can take the text: its encoding spells it, and its terminal is not known to lack it."""
    if environ.get("TERM") in _PLAIN_TERMINALS and stream.isatty():
        return False
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def screen_width(stream: TextIO, environ: Mapping[str, str]) -> int | None:
    """How many cells a line may have: `COLUMNS`, else the terminal's width; None for a pipe, which has no end."""
    named = environ.get("COLUMNS", "")
    if named.isdigit() and int(named):
        return int(named)
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class Style:
    """Marks up text when `colour` is on, else returns it as it is; `symbols` says whether signs beyond ASCII show."""

    colour: bool
    symbols: bool = True

    @classmethod
    def of(cls, stream: TextIO | None = None) -> Style:
        """The style that suits a stream (standard output)."""
        stream = stream or sys.stdout
        return cls(wants_colour(stream, os.environ), can_show(_SYMBOLS, stream, os.environ))

    def symbol(self, sign: str) -> str:
        """One of the signs that are used for people, or what stands for it where only ASCII shows."""
        return sign if self.symbols else _ASCII[sign]

    def bold(self, text: str) -> str:
        """Emphasis."""
        return self._wrapped(text, "1")

    def dim(self, text: str) -> str:
        """Less important."""
        return self._wrapped(text, "2")

    def good(self, text: str) -> str:
        """All is well."""
        return self._wrapped(text, "32")

    def busy(self, text: str) -> str:
        """Under way."""
        return self._wrapped(text, "36")

    def warn(self, text: str) -> str:
        """Degraded."""
        return self._wrapped(text, "33")

    def bad(self, text: str) -> str:
        """Nothing works."""
        return self._wrapped(text, "31")

    def found(self, text: str) -> str:
        """A word that was looked for."""
        return self._wrapped(text, "1;33")

    def _wrapped(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text


def ago(moment: float | str | None, *, now: dt.datetime) -> str:
    """How long ago, or in how long, in words of a person; a dash when unknown.

    `moment` is Unix time in seconds or RFC 3339.
    """
    at = _moment(moment)
    if at is None:
        return "-"
    seconds = (now - at).total_seconds()
    return f"{duration(seconds)} ago" if seconds >= 0 else f"in {duration(-seconds)}"


def upcoming(moment: float | None, *, now: dt.datetime) -> str:
    """When something that is planned comes, as `ago` tells it; what should have come already comes now."""
    return "now" if moment is not None and moment <= now.timestamp() else ago(moment, now=now)


def _moment(moment: float | str | None) -> dt.datetime | None:
    try:
        if isinstance(moment, str):
            parsed = dt.datetime.fromisoformat(moment)
            return parsed if parsed.tzinfo else parsed.replace(tzinfo=dt.UTC)
        return None if moment is None else dt.datetime.fromtimestamp(moment, dt.UTC)
    except (ValueError, OverflowError, OSError):
        return None


def duration(seconds: float) -> str:
    """A span of time with its largest unit: `8s`, `3m`, `5h`, `2d`."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{max(0, int(seconds))}s"


def took(milliseconds: float) -> str:
    """How long something took: `31 ms`, `9.9 s`."""
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def size(count_bytes: float) -> str:
    """A number of bytes for people, in powers of 1024: `812 B`, `37 MB`."""
    for unit in ("B", "KB", "MB"):
        if count_bytes < 1024:
            return f"{count_bytes:.0f} {unit}"
        count_bytes /= 1024
    return f"{count_bytes:.1f} GB"
