"""Texts as their readers see them: escapes undone, wrapped tokens joined, base64 decoded.

A secret is found in such a view and taken out of the text itself; what is no secret keeps its disguise.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
import re2

from exporter.redaction.rule import is_wrapped

# What a text that was quoted in a quoted text has.
_MAX_LAYERS: Final = 3

# What begins an escape, and what goes on behind it; beginning so lets `re` leap from one to the next.
# In UTF-8: zero-width and direction marks, soft hyphens, joiners, variation selectors and byte order marks are nothing.
_AFTER: Final = {
    r"\\": r"[\"'/nrt]|(?:\\\\)*\\|(?:u00|x)[2-7][0-9A-Fa-f]|u(?:200[b-fB-F]|2060|[fF][eE][fF]{2}|00[aA][dD])"
    r"|\r?\n[ \t]*",
    r"%": r"[2-7][0-9A-Fa-f]|0[9AaDd]|E2%80%8[B-F]|e2%80%8[b-f]|EF%BB%BF|ef%bb%bf|C2%AD|c2%ad",
    r"&": r"(?:quot|amp|apos|lt|gt|#34|#38|#39|#61|#x22|#x26|#x27|#x3[dD]);",
    r"=": r"\r?\n",
    r"\xe2": r"\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf]",
    r"\xc2": r"\xad",
    r"\xcd": r"\x8f",
    r"\xe1": r"\xa0\x8e",
    r"\xef": r"\xb8[\x80-\x8f]|\xbb\xbf",
}
_ESCAPE: Final = re.compile(f"({'|'.join(f'{lead}(?:{rest})' for lead, rest in _AFTER.items())})".encode())
# Bytes without an escape from which on it pays to look at their ends only.
_LONG: Final = 200
# What stands where bytes were left out. No secret ends behind it, for that would take them out with it.
_CUT: Final = b"\x00\n"
_CODE: Final = re.compile(rb"(?:%|\\u00|\\x)([0-7][0-9A-Fa-f])")
_NAMED: Final = {
    b"\\n": b"\n", b"\\r": b"\r", b"\\t": b"\t", b'\\"': b'"', b"\\'": b"'", b"\\/": b"/",
    b"&quot;": b'"', b"&amp;": b"&", b"&apos;": b"'", b"&lt;": b"<", b"&gt;": b">",
}  # fmt: skip

# The end of a line and a run that stands alone on the next one, quoted or indented at most.
_ABOVE, _BREAK = r"[A-Za-z0-9_+/=.$-]{4,}", r"[\"'`]?[ \t]*[+\\]?\r?"
_QUOTE, _BELOW, _BEHIND = r"[ \t>|#*+\"'`]*", r"[A-Za-z0-9_+/.$-]{8,}", r"[\"'`]?[ \t,;)\]}+\\]*(?:\r|\n|\z)"
WRAP: Final = rf"{_ABOVE}{_BREAK}\n{_QUOTE}{_BELOW}={{0,2}}{_BEHIND}"
# The same from the line break on, and up to it: nothing is tried twice, so that `re` is linear, too.
_REST: Final = re.compile(rf"\n{_QUOTE}+(?=({_BELOW}+={{0,2}}){_BEHIND.replace('z', 'Z')})".encode())
_END: Final = re.compile(rf"(?<![A-Za-z0-9_+/=.$-])({_ABOVE}+){_BREAK}\Z".encode())
_BROKEN_OFF: Final = re.compile(rb"[^A-Za-z]*[A-Za-z].*[0-9_-]|.*[0-9_-].*[A-Za-z]|.*[/_-]\Z")

_BASE64_LINES: Final = r"(?:[A-Za-z0-9+/]{60,76}(?:\r?\n|\\+[rn])[ \t>|]*)+[A-Za-z0-9+/]{2,}={0,2}"
BASE64: Final = _BASE64_LINES + r"|[A-Za-z0-9+/_-]{16,}={0,2}"
_RUNS: Final = re2.compile(BASE64)
_BREAKS: Final = re.compile(rb"\\+[rn]")
_NOT_BASE64: Final = b" \t\r\n>|="
_BINARY: Final = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_TO_STANDARD: Final = bytes.maketrans(b"-_", b"+/")


@dataclass(frozen=True, slots=True)
class View:
    """A text in pieces and the way back: each stands for as many bytes of the view `under` it as `sizes` says."""

    pieces: Sequence[bytes]
    sizes: Sequence[int] = ()
    under: View | None = None
    text: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", b"".join(self.pieces))

    def origins(self, offsets: Sequence[int]) -> Sequence[int]:
        """Where in the undisguised text the bytes at `offsets` come from."""
        if self.under is None or not offsets:
            return offsets
        lengths, sizes = np.fromiter(map(len, self.pieces), np.int64), np.array(self.sizes)
        after, source = np.cumsum(lengths) - lengths, np.cumsum(sizes) - sizes
        piece = np.searchsorted(after, offsets, side="right") - 1
        return self.under.origins((source[piece] + np.minimum(offsets - after[piece], sizes[piece])).tolist())


def unescaped(view: View) -> Iterator[View]:
    """The text with one layer of escapes undone, then two, as far as there are any."""
    for _ in range(_MAX_LAYERS):
        pieces = _ESCAPE.split(view.text)
        if len(pieces) == 1:
            return
        sizes = [*map(len, pieces)]
        pieces[1::2] = map(_meaning, pieces[1::2])
        view = View(*_near_escapes(pieces, sizes), view)
        yield view


def _near_escapes(pieces: list[bytes], sizes: list[int]) -> tuple[list[bytes], list[int]]:
    """The pieces and their sizes in the text; of a long one without escapes only the lines next to its neighbours."""
    near, origins, done = [], [], 0
    for index in [index for index in range(0, len(pieces), 2) if sizes[index] > _LONG]:
        piece, last = pieces[index], index == len(pieces) - 1
        head = _line_end(piece, _line_end(piece, 0)) if index else 0
        tail = len(piece) if last else piece.rfind(b"\n", head, max(head, piece.rfind(b"\n", head))) + 1
        if head < tail:
            near += [*pieces[done:index], piece[:head], _CUT, b"", piece[tail:]]
            origins += [*sizes[done:index], head, 0, tail - head, len(piece) - tail]
            done = index + 1
    return near + pieces[done:], origins + sizes[done:]


def _line_end(text: bytes, start: int) -> int:
    return text.find(b"\n", start) + 1 or len(text)


def joined(view: View, secrets: Collection[int]) -> View | None:
    """The text with wrapped tokens in one piece; a line that is itself among the offsets `secrets` is not joined."""
    pieces, sizes, done = [], [], 0
    for line in _REST.finditer(view.text):
        start, end = line.span()
        if end in secrets or not is_wrapped(line[1].decode()):
            continue
        above = _END.search(view.text, _last_word(view.text, start), start)
        if above and _BROKEN_OFF.match(above[1]):
            pieces += [view.text[done : above.end(1)], b""]
            sizes += [above.end(1) - done, end - above.end(1)]
            done = end
    return View([*pieces, view.text[done:]], [*sizes, len(view.text) - done], view) if pieces else None


def _last_word(text: bytes, end: int) -> int:
    """Where the last word of the line that ends at `end` begins, or the space before it."""
    line = text.rfind(b"\n", 0, end) + 1
    return line + max(0, text[line:end].rstrip(b" \t+\\\r\"'`").rfind(b" "))


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


def _plain(run: bytes) -> bytes:
    """What the run encodes, when that is text; empty otherwise."""
    packed = (_BREAKS.sub(b"", run) if b"\\" in run else run).translate(_TO_STANDARD, _NOT_BASE64)
    try:
        plain = b64decode(packed + b"=" * (-len(packed) % 4))
        plain.decode()
    except (binascii.Error, UnicodeDecodeError):
        return b""
    return b"" if _BINARY.search(plain) else plain
