"""What was exported from which state of which transcript, on disk, so that a restart rereads nothing."""

from __future__ import annotations

import os
import zlib
from array import array
from collections.abc import Collection, Iterable, Set
from dataclasses import astuple, dataclass
from datetime import date
from pathlib import Path
from typing import Final, Self

import apsw

from exporter.tombstones import Tombstones
from exporter.transcript import Bookmark

_BUSY_TIMEOUT_MS: Final = 5000
#: Of the tables below and of the tombstones. Version 0 named every export folder by its absolute path.
VERSION: Final = 1
_TABLES: Final = ("exported_session", "session_parent", "export_bookmark")
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS exported_session (
    folder TEXT NOT NULL, name TEXT NOT NULL, session_key TEXT NOT NULL,
    size_bytes INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, recipe TEXT NOT NULL,
    export_bytes INTEGER NOT NULL, turns INTEGER NOT NULL, line_map BLOB NOT NULL,
    PRIMARY KEY (folder, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS session_parent (
    folder TEXT NOT NULL, session_key TEXT NOT NULL, parent_key TEXT NOT NULL,
    PRIMARY KEY (folder, session_key, parent_key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS export_bookmark (
    folder TEXT NOT NULL, name TEXT NOT NULL, day TEXT NOT NULL,
    byte_offset INTEGER NOT NULL, lines INTEGER NOT NULL, session_key TEXT NOT NULL, seen TEXT NOT NULL,
    PRIMARY KEY (folder, name)
) WITHOUT ROWID
"""


class NewerLedgerError(apsw.Error):
    """The ledger was written by a newer release. It knows what must not come back, so nothing is guessed of it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One transcript that was exported, or left out.

    `session_key` is the session that it belonged to when last looked at, empty when unknown; `recipe` names the rules
    that it was made with, empty when it was left out; `export_bytes` is 0 when it had no turns.
    """

    name: str
    session_key: str
    size_bytes: int
    mtime_ns: int
    recipe: str
    export_bytes: int
    turns: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """Enough to go on with an export whose transcript has grown: how far it was read, and the day it had come to."""

    bookmark: Bookmark
    day: date | None


def _way_to(folder: str, ledger: Path) -> str:
    """A folder beside its ledger, or below, by the way from there: the two are moved and restored together."""
    beside = os.path.relpath(folder, ledger.parent)
    return folder if beside.startswith(os.pardir) else beside


class Ledger:
    """The entries of one export folder, and the tombstones. The database may be shared.

    Raises apsw.Error, and NewerLedgerError before anything in the file is touched.
    """

    def __init__(self, path: Path, folder: str) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite gives a new file, and the journal beside it, the mode of this one.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        self._folder = _way_to(folder, path)
        self._database = apsw.Connection(str(path))
        try:
            self._prepare(folder)
            self.tombstones = Tombstones(self._database)
        except BaseException:
            self._database.close()
            raise

    def _prepare(self, folder: str) -> None:
        self._database.set_busy_timeout(_BUSY_TIMEOUT_MS)
        version = self._database.pragma("user_version")
        if version > VERSION:
            raise NewerLedgerError(f"version {version}, known is {VERSION}")
        self._database.execute("PRAGMA journal_mode = WAL")
        # What was forgotten must not stay readable in pages that are free.
        self._database.execute("PRAGMA secure_delete = ON").fetchall()
        self._database.execute(_SCHEMA)
        if version < VERSION:
            self._migrate(folder)

    def _migrate(self, folder: str) -> None:
        with self._database:
            for table in _TABLES:
                self._database.execute(f"UPDATE {table} SET folder = ? WHERE folder = ?", (self._folder, folder))  # noqa: S608
            self._database.pragma("user_version", VERSION)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def entries(self) -> dict[str, Entry]:
        """Every entry of the folder, by the transcript's name."""
        rows = self._database.execute(
            "SELECT name, session_key, size_bytes, mtime_ns, recipe, export_bytes, turns"
            " FROM exported_session WHERE folder = ?",
            (self._folder,),
        )
        return {row[0]: Entry(*row) for row in rows}

    def record(self, entry: Entry, line_map: array[int], stopped: Stopped | None) -> None:
        """Remember an export that is complete on disk."""
        packed = zlib.compress(line_map.tobytes())
        with self._database:
            self._database.execute(
                "INSERT OR REPLACE INTO exported_session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (self._folder, *astuple(entry), packed),
            )
            self._forget_bookmark(entry.name)
            if stopped is not None:
                day = stopped.day.isoformat() if stopped.day else ""
                self._database.execute(
                    "INSERT INTO export_bookmark VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (self._folder, entry.name, day, *astuple(stopped.bookmark)),
                )

    def record_key(self, name: str, session_key: str) -> None:
        """Remember whose a transcript is that has no export."""
        self.record(Entry(name, session_key, 0, 0, "", 0, 0), array("I"), None)

    def assign(self, name: str, session_key: str) -> None:
        """Say whose an exported transcript is, where that was learned after its export."""
        self._database.execute(
            "UPDATE exported_session SET session_key = ? WHERE folder = ? AND name = ?",
            (session_key, self._folder, name),
        )

    def parents(self) -> set[tuple[str, str]]:
        """Session keys, each with the key of a session that it was started by."""
        rows = self._database.execute(
            "SELECT session_key, parent_key FROM session_parent WHERE folder = ?", (self._folder,)
        )
        return {(child, parent) for child, parent in rows}

    def record_parents(self, parents: Set[tuple[str, str]]) -> None:
        """Remember these in place of what `parents` gives; writes nothing where they are the same."""
        known = self.parents()
        with self._database:
            self._database.executemany(
                "DELETE FROM session_parent WHERE folder = ? AND session_key = ? AND parent_key = ?",
                ((self._folder, *pair) for pair in known - parents),
            )
            self._database.executemany(
                "INSERT INTO session_parent VALUES (?, ?, ?)", ((self._folder, *pair) for pair in parents - known)
            )

    def forget(self, name: str) -> None:
        """Drop an entry whose transcript is gone."""
        with self._database:
            self._database.execute("DELETE FROM exported_session WHERE folder = ? AND name = ?", (self._folder, name))
            self._forget_bookmark(name)

    def forget_session(self, session_id: str, session_key: str, names: Iterable[str]) -> None:
        """Drop the entries of a session, and bury it, at once."""
        with self._database:
            self.tombstones.bury(session_id, session_key)
            for name in names:
                self.forget(name)

    def forget_turns(self, name: str, digests: Collection[bytes]) -> None:
        """Bury some turns of a transcript, and have its export made anew, at once. Whose it is stays known."""
        with self._database:
            self.tombstones.bury_turns(digests)
            self._database.execute(
                "UPDATE exported_session SET recipe = '' WHERE folder = ? AND name = ?", (self._folder, name)
            )
            self._forget_bookmark(name)

    def _forget_bookmark(self, name: str) -> None:
        self._database.execute("DELETE FROM export_bookmark WHERE folder = ? AND name = ?", (self._folder, name))

    def stopped(self, name: str) -> Stopped | None:
        """Where the export of a transcript can go on; None when it must start over."""
        for day, *mark in self._database.execute(
            "SELECT day, byte_offset, lines, session_key, seen FROM export_bookmark WHERE folder = ? AND name = ?",
            (self._folder, name),
        ):
            return Stopped(Bookmark(*mark), date.fromisoformat(day) if day else None)
        return None

    def line_map(self, name: str) -> array[int]:
        """The transcript line of every line of an export, 0 for lines that are ours; empty when not exported."""
        lines = array("I")
        for (packed,) in self._database.execute(
            "SELECT line_map FROM exported_session WHERE folder = ? AND name = ?", (self._folder, name)
        ):
            lines.frombytes(zlib.decompress(packed))
        return lines
