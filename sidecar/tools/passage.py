"""Lines of an opened file, however long it or they are: what is held in memory is what a reply can hold."""

from __future__ import annotations

import codecs
import errno
import os
from dataclasses import dataclass
from typing import BinaryIO

from backends.corpus import refuse_utf16
from backends.passages import MAX_FILE_BYTES
from backends.text.graphemes import cut_before

MAX_CHARS = 12_000
#: A file is looked through up to here: many times more than any note, and done in a second.
MAX_SCANNED_BYTES = 256 * 2**20
#: A line is read up to this many bytes: more than `MAX_CHARS` code points can need.
MAX_LINE_BYTES = MAX_CHARS * 4 + 4
_BLOCK_BYTES = 2**16


@dataclass(frozen=True, slots=True)
class Passage:
    """Text of `lines` lines. `goes_on`: more lines follow; `partial`: the text is a part of a single line.

    `next_column` is the place in that line, in code points from 1, at which the text ends; None at the line's end.
    """

    text: str
    lines: int
    goes_on: bool
    partial: bool = False
    next_column: int | None = None


def passage(stream: BinaryIO, start: int, wanted: int, column: int = 1) -> Passage:
    """At most `wanted` whole lines and `MAX_CHARS` code points from line `start` (from 1) of a file at its beginning.

    Lines end with LF or CR LF, which are no part of the text, nor is a byte order mark; bytes that are not UTF-8
    become U+FFFD. A first line that is too long is cut between two characters as readers see them, and with a `column`
    beyond 1 its text from that code point on is all there is.
    Raises `OSError`: `EILSEQ` for UTF-16, `EFBIG` when what is wanted is beyond `MAX_SCANNED_BYTES`.
    """
    _pass_byte_order_mark(stream)
    _skip(stream, start - 1)
    if column > 1:
        return _part_of_line(stream, column)
    kept: list[str] = []
    chars = 0
    while len(kept) < wanted and (piece := stream.readline(MAX_LINE_BYTES)):
        line = _text(piece)
        chars += len(line) + bool(kept)
        if chars > MAX_CHARS:
            if kept:
                return Passage("\n".join(kept), len(kept), goes_on=True)
            stream.seek(-len(piece), os.SEEK_CUR)
            return _part_of_line(stream, 1)
        kept.append(line)
    return Passage("\n".join(kept), len(kept), goes_on=bool(stream.read(1)))


def _part_of_line(stream: BinaryIO, column: int) -> Passage:
    text, is_end = _line_from(stream, column)
    if len(text) > MAX_CHARS:
        text = text[: cut_before(text, MAX_CHARS)]
        goes_on = bool(stream.read(1)) if is_end else _line_follows(stream)
        return Passage(text, 1, goes_on, partial=True, next_column=column + len(text))
    return Passage(text, 1 if text else 0, goes_on=bool(stream.read(1)), partial=True)


def _line_from(stream: BinaryIO, column: int) -> tuple[str, bool]:
    """The text of a line from a code point on, as far as a reply needs it, and whether the line was read to its end."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    to_pass, text = column - 1, ""
    while len(text) <= MAX_CHARS:
        if stream.tell() > MAX_SCANNED_BYTES:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        piece = stream.readline(_BLOCK_BYTES)
        is_end = not piece or piece.endswith(b"\n")
        decoded = decoder.decode(piece.removesuffix(b"\n"), is_end)
        text += decoded[to_pass:]
        to_pass -= min(to_pass, len(decoded))
        if is_end:
            return text.removesuffix("\r") if piece else text, True
    return text, False


def _text(piece: bytes) -> str:
    return piece.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", errors="replace")


def _pass_byte_order_mark(stream: BinaryIO) -> None:
    mark = stream.read(len(codecs.BOM_UTF8))
    refuse_utf16(mark)
    if mark != codecs.BOM_UTF8:
        stream.seek(0)


def _skip(stream: BinaryIO, lines: int) -> None:
    """Go past `lines` lines, or to the end. Whole blocks: line by line, ten million of them take seconds."""
    while lines and (block := stream.read(_BLOCK_BYTES)):
        ends = block.count(b"\n")
        if ends >= lines:
            stream.seek(-len(block.split(b"\n", lines)[-1]), os.SEEK_CUR)
        elif stream.tell() > MAX_SCANNED_BYTES:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        lines -= min(ends, lines)


def _line_follows(stream: BinaryIO) -> bool:
    """Whether there is a line after the one that is being read; supposed behind what no file of memory holds."""
    furthest = stream.tell() + MAX_FILE_BYTES
    while piece := stream.read(_BLOCK_BYTES):
        if b"\n" in piece:
            return bool(piece.partition(b"\n")[2] or stream.read(1))
        if stream.tell() > furthest:
            return True
    return False
