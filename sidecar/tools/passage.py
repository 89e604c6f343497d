"""Lines of an opened file, however long it or they are: what is held in memory is what a reply can hold."""

from __future__ import annotations

import codecs
import errno
import os
from dataclasses import dataclass
from typing import BinaryIO

from backends.passages import MAX_FILE_BYTES
from backends.text.graphemes import cut_before

MAX_CHARS = 12_000
#: A file is looked through up to here: many times more than any note, and done in a second.
MAX_SCANNED_BYTES = 256 * 2**20
#: A line is read up to this many bytes: more than `MAX_CHARS` code points can need.
MAX_LINE_BYTES = MAX_CHARS * 4 + 4
_BLOCK_BYTES = 2**16
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Passage:
    """Text of `lines` lines. `goes_on`: more lines follow; `partial`: the only one was cut, its rest not shown."""

    text: str
    lines: int
    goes_on: bool
    partial: bool = False


def passage(stream: BinaryIO, start: int, wanted: int) -> Passage:
    """At most `wanted` whole lines and `MAX_CHARS` code points from line `start` (from 1) of a file at its beginning.

    Lines end with LF or CR LF, which are no part of the text, nor is a byte order mark; bytes that are not UTF-8
    become U+FFFD. A first line that is too long is cut between two characters as readers see them.
    Raises `OSError`: `EILSEQ` for UTF-16, `EFBIG` when `start` is beyond `MAX_SCANNED_BYTES`.
    """
    _pass_byte_order_mark(stream)
    _skip(stream, start - 1)
    kept: list[str] = []
    chars = 0
    while len(kept) < wanted and (piece := stream.readline(MAX_LINE_BYTES)):
        line = _text(piece)
        chars += len(line) + bool(kept)
        if chars > MAX_CHARS:
            return Passage("\n".join(kept), len(kept), goes_on=True) if kept else _cut(stream, piece)
        kept.append(line)
    return Passage("\n".join(kept), len(kept), goes_on=bool(stream.read(1)))


def _cut(stream: BinaryIO, piece: bytes) -> Passage:
    line = _text(piece)
    return Passage(line[: cut_before(line, MAX_CHARS)], 1, goes_on=_line_follows(stream, piece), partial=True)


def _text(piece: bytes) -> str:
    return piece.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", errors="replace")


def _pass_byte_order_mark(stream: BinaryIO) -> None:
    mark = stream.read(len(codecs.BOM_UTF8))
    if mark.startswith(_UTF16):
        raise OSError(errno.EILSEQ, "it is UTF-16; save it as UTF-8")
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


def _line_follows(stream: BinaryIO, piece: bytes) -> bool:
    """Whether there is a line after the one that `piece` begins; supposed behind what no file of memory holds."""
    furthest = stream.tell() + MAX_FILE_BYTES
    while piece and b"\n" not in piece:
        if stream.tell() > furthest:
            return True
        piece = stream.read(_BLOCK_BYTES)
    return bool(piece.partition(b"\n")[2] or stream.read(1))
