"""Put a question to qmd: the warm resident first, the command line when there is none.

Rows are files. A question asks for many of them, and for notes, extra folders and sessions apart, so that none fills
the list before the others had their turn.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from backends.base import BackendError, Failure, Mode, Notice
from backends.qmd import command
from backends.qmd.capabilities import NEWEST_TRIED, Dialect
from backends.qmd.child import run
from backends.qmd.install import Install
from backends.qmd.output import Reading, Row, read, rows_of, timed_out
from backends.qmd.pool import ResidentPool
from backends.qmd.program import Program
from backends.qmd.resident import GoneError, Resident
from backends.qmd.terms import Terms

#: A keyword call takes milliseconds; one that takes this long hangs. Meaning may have to load a model first, and
#: keyword calls of the same agent then wait behind the loading: they must not end it.
_HANG_S = {Mode.SEARCH: 3.0, Mode.VSEARCH: 30.0, Mode.QUERY: 30.0}
#: Share of the time left that a search waits for a resident that is only starting.
_WAIT_SHARE = 0.4
#: Share of the time left that the meaning leg gets before its keyword half is used alone.
_MEANING_SHARE = 0.75
#: Failures of a resident that the command line may not share.
_WORTH_A_COMMAND = frozenset({Failure.BAD_OUTPUT, Failure.UNSUPPORTED_FLAGS, Failure.EXITED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question: `groups` are lists of collections that are searched apart; none is empty.

    `scoped` keeps qmd's candidates to the collection of a group of one.
    """

    terms: Terms
    mode: Mode
    groups: tuple[tuple[str, ...], ...]
    rerank: bool
    deadline_at: float
    scoped: bool = False

    def scope(self, group: Sequence[str]) -> str:
        """What goes behind every word for this group."""
        return command.scope_of(group[0]) if self.scoped and len(group) == 1 else ""

    @property
    def left_s(self) -> float:
        """Seconds until the deadline. Raises `BackendError` when there are none."""
        left = self.deadline_at - time.monotonic()
        if left <= 0:
            raise timed_out()
        return left


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Rows in order, the way they came (`resident`, `command`), and whether a leg is missing.

    `meant` gives the rank (0-based) of rows that were found by meaning, by file, where that is known apart.
    """

    rows: tuple[Row, ...]
    via: str
    meant: Mapping[str, tuple[int, Row]] = field(default_factory=dict)
    partial: bool = False
    notices: tuple[Notice, ...] = ()


class Asking:
    """The two ways to one agent's qmd. `key` names the agent in the pool."""

    def __init__(self, program: Program, pool: ResidentPool, key: str, *, resident: bool) -> None:
        self._program = program
        self._pool = pool
        self._key = key
        self._resident = resident

    async def find(self, install: Install, ask: Ask) -> Found:
        """Rows for a question before its deadline. Raises `BackendError`."""
        reason = None
        if self._resident:
            # Twice: the call that hung is not repeated, its neighbours and the victims of a crash are.
            for _ in range(2):
                resident = await self.lease(install, wait_s=ask.left_s * _WAIT_SHARE)
                if resident is None:
                    break
                try:
                    return await _by_resident(resident, ask)
                except GoneError:
                    continue
                except BackendError as error:
                    if error.failure not in _WORTH_A_COMMAND:
                        raise
                    break
            reason = self._why_command(install)
        found = await self._by_command(install, ask)
        return found if reason is None else _with_notice(found, reason)

    async def lease(self, install: Install, *, wait_s: float) -> Resident | None:
        """The agent's resident, started if there is room, waiting at most `wait_s`. None too where it cannot serve."""
        if install.able.dialect is None:
            return None

        async def start() -> Resident:
            return await Resident.start(command.resident(install), self._program.surroundings())

        return await self._pool.lease(self._key, start, wait_s=wait_s)

    def current(self) -> Resident | None:
        """The resident that runs now, without starting one."""
        return self._pool.current(self._key)

    async def retire(self) -> None:
        """End the resident: what it has open is about to be replaced."""
        await self._pool.retire(self._key)

    def _why_command(self, install: Install) -> Notice:
        if self.current() is not None:
            return Notice("resident_refused", "The warm qmd refused the call; a new process answered.")
        if install.able.dialect is None:
            message = f"qmd {install.label} has no resident that can do without the reranker."
            return Notice("resident_unsupported", message, "Update qmd: npm install -g @tobilu/qmd@latest")
        why = self._pool.why_not(self._key)
        if why is not None and not install.tried:
            newest = ".".join(map(str, NEWEST_TRIED))
            message = f"qmd {install.label} was never tried (up to {newest}), and does not stay warm: {why.message}"
            return Notice("resident_failed", message, f"Look for a newer qmd-sidecar, or install @tobilu/qmd@{newest}.")
        if why is not None:
            return Notice("resident_failed", f"The warm qmd does not start: {why.message}", why.hint)
        return Notice("resident_busy", "No warm qmd was free; a new process answered.")

    async def _by_command(self, install: Install, ask: Ask) -> Found:
        lines = [
            argv
            for group in ask.groups
            for argv in command.searches(install, ask.terms, ask.mode, group, ask.scope(group))
        ]
        readings = await asyncio.gather(*(self._one(argv, ask) for argv in lines))
        failed = [reading.failure for reading in readings if reading.failure is not None]
        if failed:
            raise failed[0]
        notices = dict.fromkeys(notice for reading in readings for notice in reading.notices)
        rows = woven([reading.rows for reading in readings])
        meant = _ranks(rows) if ask.mode is Mode.VSEARCH else {}
        return Found(rows=rows, via="command", meant=meant, notices=tuple(notices))

    async def _one(self, argv: Sequence[str], ask: Ask) -> Reading:
        try:
            done = await run(argv, self._program.surroundings(), timeout_s=ask.left_s, grace_s=0.05)
        except OSError as error:
            raise BackendError(Failure.BROKEN_INSTALL, f"qmd could not be started: {error.strerror}.") from error
        return await asyncio.to_thread(read, done, secret=ask.terms.sentence)


async def _by_resident(resident: Resident, ask: Ask) -> Found:
    if ask.mode is not Mode.QUERY:
        rows = await _rows(resident, ask, ask.mode, ask.left_s)
        return Found(rows=rows, via="resident", meant=_ranks(rows) if ask.mode is Mode.VSEARCH else {})
    # Keywords first and apart: a resident does one thing at a time, and when meaning is late (a model that loads, or
    # hangs) they are the answer. Only the reranker wants to see both in one call.
    words = await _rows(resident, ask, Mode.SEARCH, ask.left_s)
    second = Mode.QUERY if ask.rerank else Mode.VSEARCH
    try:
        meant = await _rows(resident, ask, second, ask.left_s * _MEANING_SHARE)
    except BackendError as error:
        notice = Notice("semantic_unfinished", f"Only keywords were searched: {error.message}", error.hint)
        return Found(rows=words, via="resident", partial=True, notices=(notice,))
    ranks = _ranks(meant) if second is Mode.VSEARCH else {}
    return Found(rows=woven([words, meant]), via="resident", meant=ranks)


def _ranks(rows: Sequence[Row]) -> dict[str, tuple[int, Row]]:
    return {row.file: (rank, row) for rank, row in enumerate(rows)}


async def _rows(resident: Resident, ask: Ask, mode: Mode, timeout_s: float) -> tuple[Row, ...]:
    calls = [
        resident.call(tool, given, timeout_s=timeout_s, hang_s=_HANG_S[ask.mode])
        for group in ask.groups
        for tool, given in calls_of(resident.dialect, ask, mode, group)
    ]
    results = await asyncio.gather(*calls, return_exceptions=True)
    return woven([_checked(result) for result in results])


def calls_of(dialect: Dialect, ask: Ask, mode: Mode, group: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    """The tool calls, name and arguments, that ask a resident for one group. Keywords only before 1.1."""
    if dialect is Dialect.TYPED:
        return [("query", arguments(ask, mode, group))]
    return [
        ("search", {"query": text, "limit": command.ROW_LIMIT, "minScore": 0, "collection": name})
        for name in group
        for text in command.fewer(ask.terms.words)
    ]


def arguments(ask: Ask, mode: Mode, collections: Sequence[str]) -> dict[str, Any]:
    """What the tool `query` is called with. Collections are always named: a search without would see all of them."""
    if not collections:
        raise ValueError("a search names its collections")
    return {
        "searches": [
            {"type": kind, "query": text} for kind, text in command.typed(ask.terms, mode, ask.scope(collections))
        ],
        "collections": list(collections),
        "limit": command.ROW_LIMIT,
        "candidateLimit": command.ROW_LIMIT,
        "rerank": ask.rerank and mode is Mode.QUERY,
    }


def woven(lists: Sequence[Sequence[Row]]) -> tuple[Row, ...]:
    """The firsts of all lists, then the seconds, and so on; each file once."""
    first: dict[str, Row] = {}
    for rank in zip_longest(*lists):
        for row in rank:
            if row is not None:
                first.setdefault(row.file, row)
    return tuple(first.values())


def _checked(result: Mapping[str, Any] | BaseException) -> tuple[Row, ...]:
    if isinstance(result, BaseException):
        raise result
    rows = rows_of(dict(result))
    if rows is None:
        raise BackendError(Failure.BAD_OUTPUT, "qmd's resident answered without a list of results.")
    return rows


def _with_notice(found: Found, notice: Notice) -> Found:
    return replace(found, notices=(*found.notices, notice))
