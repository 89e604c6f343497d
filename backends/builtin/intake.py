"""One file on its way into an index: read, found fit or not, and cut into chunks with their terms."""

from __future__ import annotations

import hashlib
import logging
import os
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath

from backends.builtin.chunking import Chunk, chunk_lines
from backends.builtin.identity import Cut
from backends.corpus import Found, Located, open_regular, split_lines
from backends.passages import MAX_FILE_BYTES
from backends.text.tokens import index_terms

log = logging.getLogger(__name__)

#: Why a text is listed although it was indexed.
NOT_UTF8 = "not UTF-8: other bytes stand as U+FFFD; save it as UTF-8"


class UnfitError(Exception):
    """A file that is no text to remember, and why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk with the SHA-256 of its text and its index terms."""

    chunk: Chunk
    digest: str
    terms: str


@dataclass(frozen=True, slots=True)
class Text:
    """What a file says; `flaw` tells what an operator should mend in it, empty for nothing."""

    text: str
    flaw: str = ""


def read(located: Located, found: Found) -> bytes:
    """The bytes of a file. Raises `UnfitError` for what cannot be memory, and `OSError`."""
    # A file may have grown since it was listed.
    if found.size <= MAX_FILE_BYTES:
        with os.fdopen(open_regular(located), "rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    if found.size > MAX_FILE_BYTES or len(data) > MAX_FILE_BYTES:
        raise UnfitError(f"larger than {MAX_FILE_BYTES // 2**20} MiB")
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise UnfitError("UTF-16; save it as UTF-8")
    if b"\0" in data:
        raise UnfitError("not text (holds NUL bytes)")
    return data


def decoded(data: bytes) -> Text:
    """The text of a file; bytes that are not UTF-8 become U+FFFD."""
    try:
        return Text(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Text(data.decode("utf-8-sig", errors="replace"), NOT_UTF8)


def chunks_of(text: str, cut: Cut) -> list[Chunk]:
    """A text in chunks, without their terms, which take most of the time. Raises `UnfitError`."""
    with _finding_unfit():
        return list(chunk_lines(split_lines(text), tokens=cut.tokens, overlap=cut.overlap))


def pieces(located: Located, text: str, cut: Cut) -> list[Piece]:
    """A text in chunks. Raises `UnfitError` for one that the chunker or the tokenizer cannot take."""
    chunks = chunks_of(text, cut)
    with _finding_unfit():
        return [_piece(located, position, chunk) for position, chunk in enumerate(chunks)]


def digest_of(chunk: Chunk) -> str:
    """What a chunk's text is known by."""
    return hashlib.sha256(chunk.text.encode()).hexdigest()


@contextmanager
def _finding_unfit() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # whatever one text does to our code, the others must be indexed
        log.warning("a note could not be cut", extra={"fields": {"reason": type(error).__name__}})
        raise UnfitError(f"cannot be cut into passages ({type(error).__name__})") from error


def _piece(located: Located, position: int, chunk: Chunk) -> Piece:
    # The words of the name stand with the first chunk, so that a note is found by what it is called.
    name = PurePosixPath(located.relative).with_suffix("") if position == 0 else ""
    return Piece(chunk, digest_of(chunk), " ".join(index_terms(f"{name}\n{chunk.text}")))
