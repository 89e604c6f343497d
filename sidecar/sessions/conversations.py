"""What is known of one agent's exported conversations: who may see which, and what a passage of one cites."""

from __future__ import annotations

import asyncio
import logging
import os
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import apsw

from backends.base import Hit, Source
from backends.corpus import Corpus, open_regular
from exporter import Exported, ExportJob, Owners, day_said, owners, transcript_lines
from sidecar.config.schema import Visibility
from sidecar.sessions.visibility import Asker, Families, Visible, visible

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Looking at the ledger takes no longer than this, nor does citing; a disk that does not answer hides, and cites not.
TIMEOUT_S = 1.0
#: SQLite writes behind this name until it has written to the file itself.
_LOG = "-wal"


@dataclass(frozen=True, slots=True)
class Book:
    """The ledger as it was when its files had this `state`."""

    state: tuple[Any, ...] = ()
    families: Families = field(default_factory=Families)
    by_transcript: dict[str, Exported] = field(default_factory=dict)
    by_export: dict[str, Exported] = field(default_factory=dict)

    @classmethod
    def of(cls, agent_id: str, state: tuple[Any, ...], known: Owners) -> Book:
        """What the ledger says, arranged."""
        by_transcript = {each.transcript: each for each in known.exported}
        by_export = {each.export: each for each in known.exported if each.export}
        return cls(state, Families.of(agent_id, known), by_transcript, by_export)


class Conversations:
    """The exports that `job` makes for an agent. What looks at the disk runs in `pool`.

    Whose an export is was decided when it was made: between exports, changes of the gateway's store say nothing about
    what can be searched.
    """

    def __init__(self, agent_id: str, job: ExportJob, rule: Visibility, pool: Executor) -> None:
        self._agent_id = agent_id
        self._ledger = Path(job.ledger)
        self._folder = job.export_folder
        self._rule = rule
        self._pool = pool
        self._book = Book()

    async def visible_to(self, asker: Asker) -> Visible:
        """What a caller may see. Never raises: what cannot be known is hidden from everybody but the operator."""
        if asker.operator and not asker.sandboxed:
            return Visible(paths=None)
        seen = await self._in_time(lambda: self._seen_in(self.book(), asker), None)
        # What a disk that does not answer said before is the best that is known.
        return seen or self._seen_in(self._book, asker)

    def _seen_in(self, book: Book, asker: Asker) -> Visible:
        return visible(asker, self._rule, self._agent_id, book.families)

    def book(self) -> Book:
        """The ledger, read anew where it has changed. Looks at the disk; not for the event loop."""
        state = _state_of(self._ledger)
        if state != self._book.state:
            try:
                # The state from before reading: what changes meanwhile is seen the next time.
                self._book = Book.of(self._agent_id, state, owners(self._ledger, self._folder))
            except apsw.BusyError:
                # Said of a moment, and nothing of the file will tell that it is over.
                return self._book
            except (OSError, apsw.Error) as error:
                log.warning("exports unknown", extra={"fields": {"agent": self._agent_id, "why": type(error).__name__}})
                self._book = Book(state)
        return self._book

    def knows(self, transcript: str) -> bool:
        """Whether a transcript was exported, or left out, when last looked."""
        return transcript in self._book.by_transcript

    async def cited(self, hits: Sequence[Hit], corpus: Corpus, *, with_key: bool) -> list[dict[str, Any] | None]:
        """`{id, date?, line?, key?}` for every hit that is of a conversation, None for the others. Never raises."""
        if all(hit.source is not Source.SESSIONS for hit in hits):
            return [None] * len(hits)
        return await self._in_time(lambda: self._cited(hits, corpus, with_key=with_key), [None] * len(hits))

    async def _in_time(self, work: Callable[[], T], otherwise: T) -> T:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except TimeoutError:
            return otherwise

    def _cited(self, hits: Sequence[Hit], corpus: Corpus, *, with_key: bool) -> list[dict[str, Any] | None]:
        by_export = self.book().by_export
        known = [by_export.get(hit.relative) if hit.source is Source.SESSIONS else None for hit in hits]
        found = [(hit, each) for hit, each in zip(hits, known, strict=True) if each]
        lines = iter(self._lines([(each.transcript, hit.start_line, hit.end_line) for hit, each in found]))
        return [
            _citation(each, _day(hit, corpus), next(lines), with_key=with_key) if each else None
            for hit, each in zip(hits, known, strict=True)
        ]

    def _lines(self, passages: Sequence[tuple[str, int, int]]) -> list[int | None]:
        try:
            return transcript_lines(self._ledger, self._folder, passages)
        except (OSError, apsw.Error, zlib.error, ValueError):
            return [None] * len(passages)


def _citation(known: Exported, day: str, line: int | None, *, with_key: bool) -> dict[str, Any]:
    return {
        "id": known.session_id,
        **({"date": day} if day else {}),
        **({"line": line} if line else {}),
        **({"key": known.session_key} if with_key and known.session_key else {}),
    }


def _state_of(ledger: Path) -> tuple[Any, ...]:
    """What tells that a ledger was written to."""
    found: list[tuple[int, int, int] | None] = []
    for file in (ledger, ledger.with_name(ledger.name + _LOG)):
        try:
            info = file.stat()
        except OSError:
            found.append(None)
        else:
            found.append((info.st_ino, info.st_size, info.st_mtime_ns))
    return tuple(found)


def _day(hit: Hit, corpus: Corpus) -> str:
    """The day of the first turn in a passage; empty where it cannot be told."""
    located = corpus.locate(hit.path)
    if located is None:
        return ""
    try:
        with os.fdopen(open_regular(located), encoding="utf-8", errors="replace", newline="\n") as file:
            return day_said(islice(file, hit.end_line), hit.start_line)
    except OSError:
        return ""
