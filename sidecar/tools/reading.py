"""The `memory_get` path: scope -> the file in the corpus -> opened safely -> whole lines -> how to go on."""

from __future__ import annotations

import asyncio
import codecs
import errno
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from backends.corpus import Corpus, Kind, Located, Owners, open_regular
from backends.media import type_of
from scope import Decision
from sidecar.agents import Agent
from sidecar.tools.admission import admit, conversations_for, denied_json

DEFAULT_LINES = 200
MAX_CHARS = 12_000
#: A file is looked through up to here: more than any note, and little enough to be done in a moment.
MAX_SCANNED_BYTES = 64 * 2**20
TIMEOUT_S = 10.0
#: A line is read up to this many bytes: more than `MAX_CHARS` code points can need.
MAX_LINE_BYTES = MAX_CHARS * 4 + 4


class PathNotAllowedError(Exception):
    """The path is not one that the agent's roots hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """What a caller wants to read; `start` is a 1-based line."""

    path: str
    start: int | None = None
    lines: int | None = None
    session_key: str | None = None
    parent_session_key: str | None = None
    visible_sessions: Sequence[str] = ()
    sandboxed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Lines `start` to `start + lines - 1` of a file. `next_from` is set when there is more below."""

    path: str
    text: str
    start: int
    lines: int
    truncated: bool = False
    next_from: int | None = None


async def get(agent: Agent, request: ReadRequest, pool: Executor) -> dict[str, Any]:
    """Answer one read; of an image or a recording with its media type alone.

    Raises `PathNotAllowedError`, `TimeoutError`, and `OSError` for what the disk cannot give.
    """
    decision = admit(agent, request.session_key, request.parent_session_key, door="get")
    if not decision.allowed:
        return {"path": request.path, "text": "", "outcome": "denied", "denied": denied_json(decision)}
    if not agent.enabled:
        error = "memory search is disabled for this agent"
        return {"path": request.path, "text": "", "disabled": True, "error": error}
    path, start, lines = _place(request)
    located = locate(agent.corpus, path)
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(TIMEOUT_S):
        if agent.has_sessions:
            # A path of another root may lead to a conversation, too.
            owned = await loop.run_in_executor(pool, lambda: Owners(agent.corpus).of(located))
            await _require_visible(agent, request, decision, owned)
        if located.root.media:
            return await loop.run_in_executor(pool, lambda: medium(located))
        excerpt = await loop.run_in_executor(pool, lambda: read(located, start=start, lines=lines))
    return {"path": located.path, "text": ""} if excerpt is None else _excerpt_json(excerpt)


async def _require_visible(agent: Agent, request: ReadRequest, decision: Decision, located: Located) -> None:
    """Raise `PathNotAllowedError` for a conversation that a search by the same caller would not show."""
    if located.root.kind is not Kind.SESSION:
        return
    if not (await conversations_for(agent, request, decision)).shows(located.relative):
        raise PathNotAllowedError


def medium(located: Located) -> dict[str, Any]:
    """What is said of an image or a recording: its media type, as long as it is there. Raises like `read`."""
    descriptor = _opened(located)
    if descriptor is None:
        return {"path": located.path, "text": ""}
    os.close(descriptor)
    return {"path": located.path, "text": "", "media": type_of(located.relative)}


_CITATION = re.compile(r"(?P<path>.+\.md)#L(?P<first>\d{1,9})(?:-L?(?P<last>\d{1,9}))?", re.IGNORECASE)


def _place(request: ReadRequest) -> tuple[str, int, int]:
    """Path, first line and number of lines; a citation such as `memory/a.md#L3-L7` names all three."""
    cited = _CITATION.fullmatch(request.path)
    if cited is None:
        return request.path, request.start or 1, request.lines or DEFAULT_LINES
    first = max(1, int(cited["first"]))
    last = max(first, int(cited["last"] or first))
    return cited["path"], request.start or first, request.lines or last - first + 1


def _excerpt_json(excerpt: Excerpt) -> dict[str, Any]:
    return {
        "path": excerpt.path,
        "text": excerpt.text,
        "from": excerpt.start,
        "lines": excerpt.lines,
        **({"truncated": True} if excerpt.truncated else {}),
        **({"nextFrom": excerpt.next_from} if excerpt.next_from else {}),
    }


def locate(corpus: Corpus, path: str) -> Located:
    """The file that a caller names, by shown path or by absolute path inside a root. Raises `PathNotAllowedError`."""
    located = _from_absolute(corpus, path) if path.startswith("/") else corpus.locate(path)
    if located is None or not (located.root.media or located.relative.lower().endswith(".md")):
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
    descriptor = _opened(located)
    if descriptor is None:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        return _slice(located.path, _lines(stream), start, lines)


def _opened(located: Located) -> int | None:
    """The descriptor of a file, None when it is not there. Raises like `read`."""
    try:
        return open_regular(located)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO):
            raise
        if error.errno == errno.ENOTDIR and not _through_link(located):
            return None
        raise PathNotAllowedError from error


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
    """The lines of a file without their ends, each at most `MAX_LINE_BYTES`; nothing longer is ever held.

    Raises `OSError` (`EFBIG`) beyond `MAX_SCANNED_BYTES`.
    """
    piece = stream.readline(MAX_LINE_BYTES).removeprefix(codecs.BOM_UTF8)
    while piece:
        if not piece.endswith(b"\n"):
            _skip_rest_of_line(stream, piece)
        yield piece.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", errors="replace")
        piece = _bounded_line(stream)


def _bounded_line(stream: BinaryIO) -> bytes:
    if stream.tell() > MAX_SCANNED_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return stream.readline(MAX_LINE_BYTES)


def _skip_rest_of_line(stream: BinaryIO, piece: bytes) -> None:
    while piece and not piece.endswith(b"\n"):
        piece = _bounded_line(stream)
