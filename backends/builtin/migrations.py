"""How an index of an older version becomes one of ours: a list of steps, applied in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import apsw


@dataclass(frozen=True, slots=True)
class Step:
    """What leads from the version before to `version`.

    `rewrites`: the file itself must be laid out anew, which SQLite does on its own, whole or not at all, and before
    the transaction. Rewriting twice, after a kill in between, is harmless.
    """

    version: int
    sql: str = ""
    rewrites: bool = False


#: Oldest first, every version once.
STEPS: Sequence[Step] = (
    # Version 1 kept free pages for ever, and the words of deleted notes in segments that were not merged.
    Step(2, "INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize')", rewrites=True),
    # What was submitted to a provider's batch interface and is still waited for.
    Step(3, "CREATE TABLE embedding_jobs (id TEXT PRIMARY KEY, data TEXT NOT NULL)"),
)
SCHEMA_VERSION = STEPS[-1].version
#: Readers can still answer from an index of this version, until a writer has brought it up to date.
OLDEST_READABLE_VERSION = 1


def migrate(connection: apsw.Connection, steps: Sequence[Step] = STEPS) -> bool:
    """Apply the steps that an index has not seen, all or none; whether there were any. Raises `apsw.Error`."""
    missing = [step for step in steps if step.version > connection.pragma("user_version")]
    if not missing:
        return False
    if any(step.rewrites for step in missing):
        lay_out(connection)
    with connection:
        for step in missing:
            connection.execute(step.sql).fetchall()
        connection.pragma("user_version", missing[-1].version)
    return True


def lay_out(connection: apsw.Connection) -> None:
    """Write the file anew so that it can give back its free pages in small steps."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL").fetchall()
    connection.execute("VACUUM").fetchall()
