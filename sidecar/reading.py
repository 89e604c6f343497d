"""The `memory_get` path: find the file in the corpus, open it safely, cut whole lines, say how to go on."""

from __future__ import annotations

import codecs
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from backends.corpus import Corpus, Located, open_regular

DEFAULT_LINES = 200
MAX_CHARS = 12_000
#: A line is read up to this many bytes: more than `MAX_CHARS` code points can need.
MAX_LINE_BYTES = MAX_CHARS * 4 + 4


class PathNotAllowedError(Exception):
    """The path is not one that the agent's roots hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Lines `start` to `start + lines - 1` of a file. `next_from` is set when there is more below."""

    path: str
    text: str
    start: int
    lines: int
    truncated: bool = False
    next_from: int | None = None


def locate(corpus: Corpus, path: str) -> Located:
    """The file that a caller names, by shown path or by absolute path inside a root. Raises `PathNotAllowedError`."""
    located = _from_absolute(corpus, path) if path.startswith("/") else corpus.locate(path)
    if located is None or not located.relative.lower().endswith(".md"):
        raise PathNotAllowedError
    return located


def _from_absolute(corpus: Corpus, path: str) -> Located | None:
    if os.path.normpath(path) != path or "\0" in path:
        return None
    for root in corpus.roots:
        for base in (root.path, Path(os.path.realpath(root.path))):
            if path.startswith(f"{base}/") and root.holds(path[len(f"{base}/") :]):
                return Located(root, path[len(f"{base}/") :])
    return None


def read(located: Located, *, start: int = 1, lines: int = DEFAULT_LINES) -> Excerpt | None:
    """At most `lines` whole lines and `MAX_CHARS` characters from line `start`; None when the file is not there.

    A single line longer than that is cut. Raises `PathNotAllowedError` when a link or something that is no regular
    file stands on the way, and `OSError` for what the disk cannot give.
    """
    try:
        descriptor = open_regular(located)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO):
            raise
        if error.errno == errno.ENOTDIR and not _through_link(located):
            return None
        raise PathNotAllowedError from error
    with os.fdopen(descriptor, "rb") as stream:
        return _slice(located.path, _lines(stream), start, lines)


def _through_link(located: Located) -> bool:
    """Whether a folder on the way is a link. Asked so that a link never tells what exists behind it."""
    steps = accumulate(
        PurePosixPath(located.relative).parts, lambda folder, part: folder / part, initial=located.root.path
    )
    return any(step.is_symlink() for step in islice(steps, 1, None))


def _slice(path: str, lines: Iterator[str], start: int, wanted: int) -> Excerpt:
    kept: list[str] = []
    chars = 0
    for number, line in enumerate(lines, start=1):
        if number < start:
            continue
        cost = len(line) + bool(kept)
        if len(kept) == wanted or (kept and chars + cost > MAX_CHARS):
            return _excerpt(path, kept, start, next_from=number)
        if cost > MAX_CHARS:
            more = next(lines, None) is not None
            return _excerpt(path, [line[:MAX_CHARS]], start, next_from=number + 1 if more else None, cut=True)
        kept.append(line)
        chars += cost
    return _excerpt(path, kept, start, next_from=None)


def _excerpt(path: str, kept: list[str], start: int, *, next_from: int | None, cut: bool = False) -> Excerpt:
    text = "\n".join(kept)
    truncated = cut or next_from is not None
    return Excerpt(path=path, text=text, start=start, lines=len(kept), truncated=truncated, next_from=next_from)


def _lines(stream: BinaryIO) -> Iterator[str]:
    """The lines of a file without their ends, each at most `MAX_LINE_BYTES`; nothing longer is ever held."""
    piece = stream.readline(MAX_LINE_BYTES).removeprefix(codecs.BOM_UTF8)
    while piece:
        if not piece.endswith(b"\n"):
            _skip_rest_of_line(stream, piece)
        yield piece.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", errors="replace")
        piece = stream.readline(MAX_LINE_BYTES)


def _skip_rest_of_line(stream: BinaryIO, piece: bytes) -> None:
    while piece and not piece.endswith(b"\n"):
        piece = stream.readline(MAX_LINE_BYTES)
