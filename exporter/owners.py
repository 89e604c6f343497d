"""Whose the exports of a folder are, for who decides who may see them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from exporter.export import export_name
from exporter.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Exported:
    """One transcript as it was at its last export.

    `export` is the file's path in the export folder, empty when the transcript gave none. `session_key` is empty when
    nobody said whose it is; `left_out` tells a transcript that is not to be exported.
    """

    transcript: str
    export: str
    session_key: str
    size_bytes: int
    left_out: bool

    @property
    def session_id(self) -> str:
        """The session that the transcript is of; its archives are of the same one."""
        return self.transcript.partition(".jsonl")[0]


@dataclass(frozen=True, slots=True)
class Owners:
    """Every transcript, and pairs of session keys, each with the key of a session that it was started by."""

    exported: tuple[Exported, ...] = ()
    parents: frozenset[tuple[str, str]] = frozenset()


def owners(ledger: Path, export_folder: str) -> Owners:
    """What the ledger knows of a folder; nothing where there is no ledger yet. Raises apsw.Error and OSError."""
    if not ledger.exists():
        return Owners()
    with Ledger(ledger, export_folder) as book:
        entries, parents = book.entries().values(), frozenset(book.parents())
    exported = (
        Exported(
            transcript=entry.name,
            export=export_name(entry.name) if entry.export_bytes else "",
            session_key=entry.session_key,
            size_bytes=entry.size_bytes,
            left_out=not entry.recipe,
        )
        for entry in entries
    )
    return Owners(tuple(exported), parents)
