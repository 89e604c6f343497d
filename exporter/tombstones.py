"""What must not come back: deleted sessions, by their ids, and purged turns, by salted digests. No text."""

from __future__ import annotations

import hmac
import os
import time
from collections.abc import Collection
from hashlib import sha256
from typing import Any, Final

import apsw

from exporter.sanitize import collapse
from exporter.session_store import plain_key

_SALT_BYTES: Final = 32
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS forgotten_session (
    session_id TEXT PRIMARY KEY, key_digest BLOB NOT NULL, at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS forgotten_turn (digest BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS forgetting_salt (one INTEGER PRIMARY KEY CHECK (one = 1), salt BLOB NOT NULL)
"""


class Tombstones:
    """Those in one database, whatever folder is exported to. What is in here stays. Raises apsw.Error."""

    def __init__(self, database: apsw.Connection) -> None:
        self._database = database
        database.execute(_SCHEMA)
        with database:
            database.execute("INSERT OR IGNORE INTO forgetting_salt VALUES (1, ?)", (os.urandom(_SALT_BYTES),))
        self._salt: bytes = self._column("SELECT salt FROM forgetting_salt").pop()
        self.sessions: set[str] = self._column("SELECT session_id FROM forgotten_session")
        """The ids of the sessions that must not be exported."""
        self._turns: set[bytes] = self._column("SELECT digest FROM forgotten_turn")

    def hold_turn(self, text: str) -> bool:
        """Whether a message, as its transcript has it, was purged."""
        return bool(self._turns) and self.digest(text) in self._turns

    def of_key(self, session_key: str) -> set[str]:
        """The ids of the buried sessions of a key."""
        return self._column(
            "SELECT session_id FROM forgotten_session WHERE key_digest = ?", self.digest(plain_key(session_key))
        )

    def bury(self, session_id: str, session_key: str = "") -> None:
        """Export no transcript of a session again, whatever stands in it by then."""
        values = (session_id, self.digest(plain_key(session_key)) if session_key else b"", int(time.time()))
        self._database.execute("INSERT OR IGNORE INTO forgotten_session VALUES (?, ?, ?)", values)
        self.sessions.add(session_id)

    def bury_turns(self, digests: Collection[bytes]) -> None:
        """Never export messages of these digests again."""
        self._database.executemany("INSERT OR IGNORE INTO forgotten_turn VALUES (?)", [(each,) for each in digests])
        self._turns.update(digests)

    def digest(self, text: str) -> bytes:
        """What a text is recognised by, however it is spaced."""
        return hmac.digest(self._salt, collapse(text).encode("utf-8", "replace"), sha256)

    def _column(self, query: str, *values: bytes) -> set[Any]:
        return {value for (value,) in self._database.execute(query, values)}
