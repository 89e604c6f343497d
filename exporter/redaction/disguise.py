"""Texts as their readers see them: escapes undone, wrapped tokens joined, base64 decoded.

A secret is found in such a view and taken out of the text itself; what is no secret keeps its disguise.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import re2

from exporter.redaction.rule import is_wrapped

# What a text that was quoted in a quoted text has.
_MAX_LAYERS: Final = 3

# What begins an escape, and what goes on behind each beginning; one class in front lets `re` leap from one to the next.
# In UTF-8: soft hyphens, zero-width and direction marks, joiners, variation selectors and byte order marks are nothing.
_AFTER: Final = {
    r"\xc2": r"\xad",
    r"\xcd": r"\x8f",
    r"\xe1": r"\xa0\x8e",
    r"\xe2": r"\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf]",
    r"\xef": r"\xb8[\x80-\x8f]|\xbb\xbf",
    r"%": r"[2-7][0-9A-Fa-f]|0[9AaDd]|E2%80%8[B-F]|e2%80%8[b-f]|EF%BB%BF|ef%bb%bf|C2%AD|c2%ad",
    r"\\": r"[\"'/nrt]|(?:\\\\)*\\|(?:u00|x)[2-7][0-9A-Fa-f]|u(?:200[b-fB-F]|2060|[fF][eE][fF]{2}|00[aA][dD])"
    r"|\r?\n[ \t]*",
    r"&": r"(?:quot|amp|apos|lt|gt|#34|#38|#39|#61|#x22|#x26|#x27|#x3[dD]);",
    r"=": r"\r?\n",
}
_ESCAPE: Final = re.compile(
    f"[{''.join(_AFTER)}](?:{'|'.join(f'(?<={lead})(?:{rest})' for lead, rest in _AFTER.items())})".encode()
)
_CODE: Final = re.compile(rb"(?:%|\\u00|\\x)([0-7][0-9A-Fa-f])")
_NAMED: Final = {
    b"\\n": b"\n", b"\\r": b"\r", b"\\t": b"\t", b'\\"': b'"', b"\\'": b"'", b"\\/": b"/",
    b"&quot;": b'"', b"&amp;": b"&", b"&apos;": b"'", b"&lt;": b"<", b"&gt;": b">",
}  # fmt: skip

# The end of a line and a run that stands alone on the next one, quoted or indented at most.
WRAP: Final = (
    r"([A-Za-z0-9_+/=.$-]{4,})([\"'`]?[ \t]*[+\\]?\r?\n[ \t>|#*+\"'`]*)"
    r"([A-Za-z0-9_+/.$-]{8,}={0,2})[\"'`]?[ \t,;)\]}+\\]*(?:\r|\n|\z)"
)
_BROKEN_OFF: Final = re.compile(rb"[^A-Za-z]*[A-Za-z].*[0-9_-]|.*[0-9_-].*[A-Za-z]|.*[/_-]\Z")

_BASE64_LINES: Final = r"(?:[A-Za-z0-9+/]{60,76}(?:\r?\n|\\+[rn])[ \t>|]*)+[A-Za-z0-9+/]{2,}={0,2}"
BASE64: Final = _BASE64_LINES + r"|[A-Za-z0-9+/_-]{16,}={0,2}"
_WRAPS, _RUNS = re2.compile(WRAP), re2.compile(BASE64)
_NOT_BASE64: Final = re.compile(rb"\\+[rn]|[\s>|=]+")
_BINARY: Final = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_TO_STANDARD: Final = bytes.maketrans(b"-_", b"+/")


@dataclass(frozen=True, slots=True)
class View:
    """A text and the way back: what stands from byte `after[i]` on, up to the next edit, came from `source[i]` on."""

    text: bytes
    after: Sequence[int] = (0,)
    source: Sequence[int] = (0,)
    under: View | None = None

    def origin(self, offset: int) -> int:
        """Where in the undisguised text the byte at `offset` comes from."""
        edit = bisect_right(self.after, offset) - 1
        below = self.source[edit] + offset - self.after[edit]
        return self.under.origin(below) if self.under else below


def unescaped(view: View) -> Iterator[View]:
    """The text with one layer of escapes undone, then two, as far as there are any."""
    for _ in range(_MAX_LAYERS):
        edits = list(_unescaping(view.text))
        if not edits:
            return
        view = _edited(view, edits)
        yield view


def _unescaping(text: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Every escape with its meaning, and as empty lines what is further than a line from all of them."""
    near = 0
    for match in _ESCAPE.finditer(text):
        start, end = match.span()
        if start >= near:
            before = text.rfind(b"\n", near, max(near, text.rfind(b"\n", near, start))) + 1
            if near + 1 < before:
                yield near, before, b"\n\n"
            near = _line_end(text, _line_end(text, end))
        near = max(near, end)
        yield start, end, _meaning(match[0])
    if 0 < near < len(text):
        yield near, len(text), b""


def _line_end(text: bytes, start: int) -> int:
    return text.find(b"\n", start) + 1 or len(text)


def joined(view: View, secrets: Collection[int]) -> View | None:
    """The text with wrapped tokens in one piece; a line that is itself among the offsets `secrets` is not joined."""
    edits, start = [], 0
    while wrap := _WRAPS.search(view.text, start):
        start = wrap.start(3)
        if start not in secrets and _BROKEN_OFF.match(wrap.group(1)) and is_wrapped(wrap.group(3).decode()):
            edits.append((*wrap.span(2), b""))
    return _edited(view, edits) if edits else None


def base64_runs(text: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Start, end and plain text of everything that is text in base64."""
    for match in _RUNS.finditer(text):
        start, end = match.span()
        run = text[start:end]
        if run.islower() or run.isupper() or run.isdigit():
            continue  # a digest or a number: text in base64 has letters of both cases
        # A path may stand before it, and a line of its own behind it.
        path, lines = (
            text.rfind(b"/", start, end) + 1,
            max(text.rfind(b"\n", start, end), text.rfind(b"\\", start, end)),
        )
        for first, last in ((start, end), (path, end), (start, lines)):
            if last > 0 and start <= first and (plain := _plain(text[first:last])):
                yield first, last, plain
                break


@lru_cache(256)
def _meaning(escape: bytes) -> bytes:
    if escape in _NAMED:
        return _NAMED[escape]
    if escape.startswith(b"\\\\"):
        return escape[: len(escape) // 2]
    if escape.startswith(b"&#"):
        return bytes([int(escape[3:-1], 16) if escape[2:3] == b"x" else int(escape[2:-1])])
    code = _CODE.fullmatch(escape)
    return bytes([int(code[1], 16)]) if code else b""


def _edited(view: View, edits: Sequence[tuple[int, int, bytes]]) -> View:
    pieces, after, source, size, done = [], [0], [0], 0, 0
    for start, end, new in edits:
        pieces += [view.text[done:start], new]
        size += start - done + len(new)
        after.append(size)
        source.append(end)
        done = end
    pieces.append(view.text[done:])
    return View(b"".join(pieces), after, source, view)


def _plain(run: bytes) -> bytes:
    """What the run encodes, when that is text; empty otherwise."""
    packed = _NOT_BASE64.sub(b"", run).translate(_TO_STANDARD)
    try:
        plain = b64decode(packed + b"=" * (-len(packed) % 4))
        plain.decode()
    except (binascii.Error, UnicodeDecodeError):
        return b""
    return b"" if _BINARY.search(plain) else plain
