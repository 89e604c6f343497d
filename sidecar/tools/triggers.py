"""What a message brings to mind: entries of the curated files whose own phrases it speaks of.

Only `MEMORY.md` and `USER.md` are read, which hold what was thought over: text that came in by itself, from a chat, a
web page or an imported folder, must not reach a prompt that nobody asked it into. No model and no engine takes part:
the same message and files give the same answer.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, islice, takewhile
from typing import Any, NamedTuple

from backends.base import Notice
from backends.corpus import Corpus, Located, open_regular, read_text, split_lines
from backends.text.annotations import Triggered, triggers
from backends.text.graphemes import word_before
from sidecar.agents import Agent
from sidecar.shapes import notice_json
from sidecar.tools.admission import DISABLED, admit, denied_json
from sidecar.tools.phrases import Message, PhraseIndex, phrase_of, subject

#: The roots that are looked at, in the order of their entries where nothing else decides.
ROOTS = ("memory-root", "memory-user")
#: Sessions in which nobody speaks.
SILENT = frozenset({"heartbeat", "cron", "hook"})
MAX_ENTRIES = 3
#: Code points of all texts together.
MAX_CHARS = 1_800
#: The least of a score before importance: importance orders, and makes nothing relevant.
THRESHOLD = 0.65
#: A larger file is a store, and nothing that somebody keeps in order.
MAX_BYTES = 2**20
#: So many entries of a file count, and so many phrases of them.
MAX_ANNOTATED = 512
MAX_PHRASES = 4_096
TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggersRequest:
    """What was said, and in which session."""

    message: str
    session_key: str | None = None
    parent_session_key: str | None = None


class Recalled(NamedTuple):
    """One entry that a message brought to mind. `score` is its relevance times its importance."""

    path: str
    entry: Triggered
    score: float
    trigger: str


async def recall(agent: Agent, request: TriggersRequest, pool: Executor) -> dict[str, Any]:
    """Answer one message. Raises `TimeoutError`; a file that cannot be read is a notice."""
    decision = admit(agent, request.session_key, request.parent_session_key, door="triggers")
    if not decision.allowed:
        return {"entries": [], "denied": denied_json(decision)}
    if not agent.enabled:
        return {"entries": [], "disabled": True, "error": DISABLED}
    if decision.kind in SILENT:
        return {"entries": [], "skipped": decision.kind}
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(TIMEOUT_S):
        recalled, notices = await loop.run_in_executor(pool, lambda: recalled_by(request.message, agent.corpus))
    noticed = {"notices": [notice_json(notice) for notice in notices]} if notices else {}
    return {"entries": list(shown(recalled)), **noticed}


def recalled_by(message: str, corpus: Corpus) -> tuple[list[Recalled], list[Notice]]:
    """Every entry that a message brings to mind, the best first, and which files could not be read."""
    said = Message(message)
    recalled: list[Recalled] = []
    notices: list[Notice] = []
    for located in _files(corpus):
        try:
            recalled += _index(located, _identity(located)).recalled(said)
        except FileNotFoundError:
            continue
        except OSError as error:
            trouble = f"{located.path} cannot be read ({error.strerror})"
            action = "check its size, its encoding, and its permissions for the user who runs the daemon"
            notices.append(Notice("unreadable", trouble, action))
    return sorted(recalled, key=lambda one: -one.score), notices


def _files(corpus: Corpus) -> Iterator[Located]:
    for root in filter(None, map(corpus.root, ROOTS)):
        for found in root.files():
            yield Located(root, found.relative)


class _Identity(NamedTuple):
    inode: int
    size: int
    mtime_ns: int


def _identity(located: Located) -> _Identity:
    """What tells one state of a file from the next. Raises `OSError`, `EFBIG` for what is too large."""
    descriptor = open_regular(located)
    try:
        info = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if info.st_size > MAX_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return _Identity(info.st_ino, info.st_size, info.st_mtime_ns)


# Both files of 32 agents who speak at the same time.
@lru_cache(maxsize=64)
def _index(located: Located, _: _Identity) -> _Entries:
    return _Entries(located.path, read_text(located, max_bytes=MAX_BYTES))


class _Entries:
    """The entries of one file, in order, and their phrases."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._entries = list(islice(triggers(split_lines(text)), MAX_ANNOTATED))
        self._subjects = [subject("\n".join(_fitting(entry, MAX_CHARS, alone=True))) for entry in self._entries]
        spoken = (
            (number, phrase)
            for number, entry in enumerate(self._entries)
            for phrase in filter(None, map(phrase_of, entry.phrases))
        )
        owned = list(islice(spoken, MAX_PHRASES))
        self._owners = [number for number, _ in owned]
        self._phrases = PhraseIndex(phrase for _, phrase in owned)

    def recalled(self, message: Message) -> Iterator[Recalled]:
        """The entries of which a message speaks strongly enough, in order, each with its strongest phrase."""
        best: dict[int, tuple[float, int]] = {}
        for at, strength in sorted(self._phrases.strengths(message).items()):
            owner = self._owners[at]
            if strength > best.get(owner, (0.0, 0))[0]:
                best[owner] = strength, at
        for owner, (strength, at) in sorted(best.items()):
            entry = self._entries[owner]
            score = 0.8 * strength + 0.2 * _likeness(message.subject, self._subjects[owner])
            if score >= THRESHOLD:
                yield Recalled(self._path, entry, score * entry.factor, self._phrases.phrases[at].text)


def _likeness(message: frozenset[str], entry: frozenset[str]) -> float:
    """The share of the shorter one's words that the other one has: a long message does not dilute a short entry."""
    return len(message & entry) / min(len(message), len(entry)) if message and entry else 0.0


def shown(recalled: Iterable[Recalled]) -> Iterator[dict[str, Any]]:
    """The first entries that fit, no line of them twice. One that does not fit ends at the last line that does."""
    room, kept = MAX_CHARS, list[Recalled]()
    for one in recalled:
        if len(kept) == MAX_ENTRIES:
            return
        if any(_overlap(one, other) for other in kept):
            continue
        lines = _fitting(one.entry, room, alone=not kept)
        if lines:
            kept.append(one)
            text = "\n".join(lines)
            room -= len(text)
            yield _entry_json(one, lines, text)


def _overlap(one: Recalled, other: Recalled) -> bool:
    first, second = one.entry, other.entry
    return one.path == other.path and first.first <= second.last and second.first <= first.last


def _fitting(entry: Triggered, room: int, *, alone: bool) -> list[str]:
    """The first lines that fit into `room` code points; of a line that could fill it `alone`, the first words."""
    ends = accumulate((1 + len(line) for line in entry.lines()), initial=-1)
    fits = takewhile(lambda end: end <= room, islice(ends, 1, None))
    fitting = [line for line, _ in zip(entry.lines(), fits, strict=False)]
    if not fitting and alone:
        first = next(entry.lines())
        return [first[: word_before(first, room)]]
    while fitting and not fitting[-1].strip():
        fitting.pop()
    return fitting


def _entry_json(one: Recalled, lines: list[str], text: str) -> dict[str, Any]:
    entry = one.entry
    return {
        "path": one.path,
        "startLine": entry.first,
        "endLine": entry.first + len(lines) - 1,
        "text": text,
        "score": round(min(1.0, one.score), 4),
        "trigger": one.trigger,
        **({"partial": True} if lines != [*islice(entry.lines(), len(lines) + 1)] else {}),
    }
