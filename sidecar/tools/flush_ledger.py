"""Which sessions were flushed since their last compaction, on disk, so that a restart flushes nobody again.

A flush is granted to one caller, who reports how it went. One that nobody reported within `LEASE_S` is taken for lost,
and counts as a failure: its gateway may have died of it. After `MAX_FAILURES` the session has to wait for its next
compaction. A ledger that is damaged is moved aside and begun anew: a flush too many is better than none. One of
a newer release stays as it is.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

import apsw

log = logging.getLogger(__name__)

#: Longer than a turn of an agent may take (ten minutes with OpenClaw's defaults).
LEASE_S: Final = 900.0
MAX_FAILURES: Final = 3
#: Sessions that asked for nothing during so many grants and reports of others are forgotten.
MAX_WRITES_KEPT: Final = 10_000

_BUSY_TIMEOUT_MS: Final = 5000
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS session_flush (
    written INTEGER PRIMARY KEY, session TEXT NOT NULL UNIQUE, compactions INTEGER NOT NULL,
    stage TEXT NOT NULL, failures INTEGER NOT NULL, begun_at REAL NOT NULL
) STRICT
"""
#: Of the table. A file of 0 is from before there were versions, and is the same as 1.
VERSION: Final = 1
#: The file cannot be understood. Anything else (a full disk, missing rights) would befall a new file as well.
_DAMAGE: Final = (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, ValueError)
#: Held for milliseconds; without it two threads could move the same damaged file aside, the second one a good one.
_ONE_AT_A_TIME: Final = threading.Lock()


class LedgerError(Exception):
    """The ledger can be neither read nor written. The message names the class of the failure."""


class Stage(StrEnum):
    """How far the flush of a cycle is. `RETRY`: the last one failed or was broken off, and another one may begin."""

    BEGUN = "begun"
    RETRY = "retry"
    DONE = "done"
    EXHAUSTED = "exhausted"


class Claim(StrEnum):
    """What a caller who wants to flush is told."""

    GRANTED = "granted"
    UNDER_WAY = "under_way"
    DONE = "already_flushed"
    EXHAUSTED = "exhausted"


class Result(StrEnum):
    """How a flush went. `ABORTED` is nobody's failure: the user broke the turn off."""

    DONE = "done"
    FAILED = "failed"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class Cycle:
    """A session between two compactions, by how many it had. The session is a digest: keys hold people's numbers."""

    session: str
    compactions: int

    @classmethod
    def of(cls, session_key: str, session_id: str | None, compactions: int) -> Cycle:
        """The cycle of a normalised session key, and of one conversation under it where its id is known."""
        name = f"{session_key}\n{session_id or ''}".encode()
        return cls(hashlib.sha256(name).hexdigest(), compactions)


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a cycle; `begun_at` is Unix seconds."""

    stage: Stage
    failures: int
    begun_at: float

    def failed(self) -> Entry:
        """The same after one more failure."""
        failures = self.failures + 1
        return replace(self, stage=Stage.EXHAUSTED if failures >= MAX_FAILURES else Stage.RETRY, failures=failures)

    def is_held(self, now: float) -> bool:
        """Whether whoever began may still be at it. A clock that was set far back holds nobody up for long."""
        # Of two who ask at once, the later one may have looked at the clock first.
        return self.stage is Stage.BEGUN and abs(now - self.begun_at) < LEASE_S


_REFUSALS: Final = {Stage.DONE: Claim.DONE, Stage.EXHAUSTED: Claim.EXHAUSTED}
_Answer = TypeVar("_Answer")


class FlushLedger:
    """The flushes of one agent's sessions. The file is opened for each call, so that nothing is held that may go."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def claim(self, cycle: Cycle, now: float) -> Claim:
        """Ask for the flush of a cycle: of all who ask at once, one is granted it. Raises `LedgerError`.

        Once granted it is on disk, whatever happens to the caller.
        """

        def claim(rows: _Rows) -> Claim:
            entry = rows.find(cycle) or Entry(Stage.RETRY, 0, now)
            if entry.is_held(now):
                return Claim.UNDER_WAY
            if entry.stage is Stage.BEGUN:
                entry = entry.failed()
            if entry.stage is Stage.RETRY:
                rows.put(cycle, Entry(Stage.BEGUN, entry.failures, now))
                return Claim.GRANTED
            return _REFUSALS[entry.stage]

        return self._in_transaction(claim)

    def settle(self, cycle: Cycle, result: Result) -> Entry | None:
        """Note how a flush went; None for a cycle that none was granted to. Raises `LedgerError`.

        The same report twice counts once.
        """

        def settle(rows: _Rows) -> Entry | None:
            entry = rows.find(cycle)
            if entry is None:
                return None
            settled = _after(entry, result)
            if settled != entry:
                rows.put(cycle, settled)
            return settled

        return self._in_transaction(settle)

    def _in_transaction(self, work: Callable[[_Rows], _Answer]) -> _Answer:
        with _ONE_AT_A_TIME:
            try:
                try:
                    return self._once(work)
                except _DAMAGE as error:
                    self._set_aside(error)
                    return self._once(work)
            except (apsw.Error, OSError) as error:
                raise LedgerError(type(error).__name__) from error

    def _once(self, work: Callable[[_Rows], _Answer]) -> _Answer:
        with self._opened() as database:
            database.execute("BEGIN IMMEDIATE")
            answer = work(_Rows(database))
            database.execute("COMMIT")
        return answer

    @contextmanager
    def _opened(self) -> Iterator[apsw.Connection]:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite gives the journal beside a file the mode of that file.
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        with closing(apsw.Connection(str(self._path))) as database:
            database.set_busy_timeout(_BUSY_TIMEOUT_MS)
            version = database.pragma("user_version")
            if version > VERSION:
                raise LedgerError("NewerVersion")
            database.execute(_SCHEMA)
            if version < VERSION:
                database.pragma("user_version", VERSION)
            yield database

    def _set_aside(self, error: Exception) -> None:
        """Only the newest damaged file is kept."""
        self._path.replace(self._path.with_name(f"{self._path.name}.damaged"))
        fields = {"file": str(self._path), "reason": type(error).__name__}
        log.warning("damaged flush ledger moved aside; sessions may be flushed once more", extra={"fields": fields})


def _after(entry: Entry, result: Result) -> Entry:
    if result is Result.DONE:
        return replace(entry, stage=Stage.DONE)
    if entry.stage is not Stage.BEGUN:
        return entry
    return entry.failed() if result is Result.FAILED else replace(entry, stage=Stage.RETRY)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The table inside a transaction: one row a session, which tells of its newest cycle."""

    database: apsw.Connection

    def find(self, cycle: Cycle) -> Entry | None:
        """The entry of a cycle. Raises ValueError for a stage that we never wrote."""
        rows = self.database.execute(
            "SELECT stage, failures, begun_at FROM session_flush WHERE session = ? AND compactions = ?",
            (cycle.session, cycle.compactions),
        )
        return next((Entry(Stage(stage), failures, begun_at) for stage, failures, begun_at in rows), None)

    def put(self, cycle: Cycle, entry: Entry) -> None:
        """Write an entry as the newest, in the place of the session's last one."""
        self.database.execute(
            "INSERT OR REPLACE INTO session_flush (session, compactions, stage, failures, begun_at)"
            " VALUES (?, ?, ?, ?, ?)",
            (cycle.session, cycle.compactions, entry.stage, entry.failures, entry.begun_at),
        )
        self.database.execute(
            "DELETE FROM session_flush WHERE written <= (SELECT max(written) FROM session_flush) - ?",
            (MAX_WRITES_KEPT,),
        )
