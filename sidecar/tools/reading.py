"""The `memory_get` path: scope -> the file in the corpus -> opened safely -> whole lines -> how to go on."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from backends.corpus import Kind, Located
from backends.media import type_of
from scope import Decision
from sidecar.agents import Agent
from sidecar.tools.admission import DISABLED, admit, conversations_for, denied_json
from sidecar.tools.passage import Passage, passage
from sidecar.tools.paths import PathNotAllowedError, locate, opened

DEFAULT_LINES = 200
TIMEOUT_S = 10.0
#: All that most replies need comes with one look at the disk: a file that is written over meanwhile is seldom mixed.
BUFFER_BYTES = 2**16


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """What a caller wants to read; `start` is a 1-based line, `column` a 1-based code point in it."""

    path: str
    start: int | None = None
    lines: int | None = None
    column: int | None = None
    session_key: str | None = None
    parent_session_key: str | None = None
    visible_sessions: Sequence[str] = ()
    sandboxed: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """A path with the first line, the number of lines and the place in the first line that are wanted."""

    path: str
    start: int
    lines: int
    column: int


async def get(agent: Agent, request: ReadRequest, pool: Executor) -> dict[str, Any]:
    """Answer one read; of an image or a recording with its media type alone.

    Who is denied is told so before the disk is looked at. Raises `PathNotAllowedError`, `TimeoutError`, and `OSError`
    for what the disk cannot give.
    """
    decision = admit(agent, request.session_key, request.parent_session_key, door="get")
    if not decision.allowed:
        return {"path": request.path, "text": "", "outcome": "denied", "denied": denied_json(decision)}
    if not agent.enabled:
        return {"path": request.path, "text": "", "disabled": True, "error": DISABLED}
    place, loop = _place(request), asyncio.get_running_loop()
    async with asyncio.timeout(TIMEOUT_S):
        located = await loop.run_in_executor(pool, lambda: locate(agent.corpus, place.path))
        await _require_visible(agent, request, decision, located)
        return await loop.run_in_executor(pool, lambda: _answer(located, place))


def _answer(located: Located, place: _Place) -> dict[str, Any]:
    if located.root.media:
        return medium(located)
    found = read(located, start=place.start, lines=place.lines, column=place.column)
    return {"path": located.path, "text": ""} if found is None else _found_json(located.path, place.start, found)


async def _require_visible(agent: Agent, request: ReadRequest, decision: Decision, located: Located) -> None:
    """Raise `PathNotAllowedError` for a conversation that a search by the same caller would not show."""
    if located.root.kind is not Kind.SESSION:
        return
    if not (await conversations_for(agent, request, decision)).shows(located.relative):
        raise PathNotAllowedError


def medium(located: Located) -> dict[str, Any]:
    """What is said of an image or a recording: its media type, as long as it is there. Raises like `read`."""
    if not is_there(located):
        return {"path": located.path, "text": ""}
    return {"path": located.path, "text": "", "media": type_of(located.relative)}


def is_there(located: Located) -> bool:
    """Whether a file can be opened. Raises like `read`."""
    descriptor = opened(located)
    if descriptor is None:
        return False
    os.close(descriptor)
    return True


_CITATION = re.compile(r"(?P<path>.+\.md)#L(?P<first>\d{1,9})(?:-L?(?P<last>\d{1,9}))?", re.IGNORECASE | re.DOTALL)


def _place(request: ReadRequest) -> _Place:
    """What is wanted; a citation such as `memory/a.md#L3-L7` names path, first and last line at once."""
    cited, column = _CITATION.fullmatch(request.path), request.column or 1
    if cited is None:
        return _Place(request.path, request.start or 1, request.lines or DEFAULT_LINES, column)
    first = max(1, int(cited["first"]))
    last = max(first, int(cited["last"] or first))
    return _Place(cited["path"], request.start or first, request.lines or last - first + 1, column)


def _found_json(path: str, start: int, found: Passage) -> dict[str, Any]:
    """`truncated`: there is more, below (`nextFrom`) or in the line itself (`nextColumn`)."""
    return {
        "path": path,
        "text": found.text,
        "from": start,
        "lines": found.lines,
        **({"truncated": True} if found.goes_on or found.next_column else {}),
        # Of a line that ends before the wanted column nothing is shown, and it is passed all the same.
        **({"nextFrom": start + max(1, found.lines)} if found.goes_on else {}),
        **({"partial": True} if found.partial else {}),
        **({"nextColumn": found.next_column} if found.next_column else {}),
    }


def read(located: Located, *, start: int = 1, lines: int = DEFAULT_LINES, column: int = 1) -> Passage | None:
    """The wanted lines of a file as `passage` gives them; None when the file is not there.

    Raises `PathNotAllowedError` when a link or something that is no regular file stands on the way, and `OSError` for
    what the disk cannot give.
    """
    descriptor = opened(located)
    if descriptor is None:
        return None
    with os.fdopen(descriptor, "rb", buffering=BUFFER_BYTES) as stream:
        return passage(stream, start, lines, column)
