"""Transcripts as the gateway writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from exporter import Buried, ExportJob, ExportReport, bury, export_sessions, transcript_lines

Line = dict[str, object] | str


def said(role: str, content: object, *, at: object = "2026-11-28T10:00:00Z") -> dict[str, object]:
    """One message record."""
    return {"type": "message", "id": "e", "timestamp": at, "message": {"role": role, "content": content}}


class Place:
    """A folder of transcripts, an export folder and a ledger."""

    def __init__(self, root: Path) -> None:
        self.source = root / "sessions"
        self.exports = root / "exports"
        self.source.mkdir()
        self.job = ExportJob(
            transcripts=str(self.source), export_folder=str(self.exports), ledger=str(root / "sidecar.sqlite")
        )

    def write(self, name: str, lines: Iterable[Line], *, tail: str = "") -> Path:
        """Write a transcript; `tail` stands behind the last line end."""
        text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
        path = self.source / name
        path.write_text(text + tail, encoding="utf-8")
        return path

    def export(self, **changes: object) -> ExportReport:
        """Run the job, with some of its fields changed."""
        return export_sessions(replace(self.job, **changes))  # type: ignore[arg-type]

    def trial(self, *, session: str = "", pattern: str = "") -> Buried:
        """What a purge would bury."""
        return bury(replace(self.job, dry_run=True), session=session, pattern=pattern)

    def names(self) -> set[str]:
        """What stands in the export folder."""
        return {path.name for path in self.exports.iterdir()}

    def line(self, first: int, last: int | None = None) -> int | None:
        """The line of transcript `s1.jsonl` that these lines of its export begin with."""
        passage = ("s1.jsonl", first, last or first)
        return transcript_lines(Path(self.job.ledger), self.job.export_folder, [passage])[0]

    def read(self, name: str) -> str:
        """The text of an export."""
        return (self.exports / name).read_text(encoding="utf-8")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """An empty place."""
    return Place(tmp_path)
