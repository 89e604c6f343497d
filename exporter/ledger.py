"""What was exported from which state of which transcript, on disk, so that a restart rereads nothing."""

from __future__ import annotations

import os
import zlib
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import apsw

_BUSY_TIMEOUT_MS: Final = 5000
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS exported_session (
    folder TEXT NOT NULL, name TEXT NOT NULL, session_key TEXT NOT NULL,
    size_bytes INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, recipe TEXT NOT NULL,
    export_bytes INTEGER NOT NULL, turns INTEGER NOT NULL, line_map BLOB NOT NULL,
    PRIMARY KEY (folder, name)
) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One exported transcript.

    `session_key` is the session that it belonged to when last exported, empty when unknown; `recipe` names the rules
    that it was made with; `export_bytes` is 0 when it had no turns.
    """

    name: str
    session_key: str
    size_bytes: int
    mtime_ns: int
    recipe: str
    export_bytes: int
    turns: int


class Ledger:
    """The entries of one export folder. The database may be shared: the one table is ours. Raises apsw.Error."""

    def __init__(self, path: Path, folder: str) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite gives a new file, and the journal beside it, the mode of this one.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        self._folder = folder
        self._database = apsw.Connection(str(path))
        self._database.set_busy_timeout(_BUSY_TIMEOUT_MS)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute(_SCHEMA)

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

    def record(self, entry: Entry, line_map: array[int]) -> None:
        """Remember an export that is complete on disk."""
        self._database.execute(
            "INSERT OR REPLACE INTO exported_session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._folder,
                entry.name,
                entry.session_key,
                entry.size_bytes,
                entry.mtime_ns,
                entry.recipe,
                entry.export_bytes,
                entry.turns,
                zlib.compress(line_map.tobytes()),
            ),
        )

    def forget(self, name: str) -> None:
        """Drop an entry whose export is gone."""
        self._database.execute("DELETE FROM exported_session WHERE folder = ? AND name = ?", (self._folder, name))

    def line_map(self, name: str) -> array[int]:
        """The transcript line of every line of an export, 0 for lines that are ours; empty when not exported."""
        lines = array("I")
        for (packed,) in self._database.execute(
            "SELECT line_map FROM exported_session WHERE folder = ? AND name = ?", (self._folder, name)
        ):
            lines.frombytes(zlib.decompress(packed))
        return lines
