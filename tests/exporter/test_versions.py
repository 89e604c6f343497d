"""The ledger of another release: an older one is brought up to date, a newer one is left as it is."""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from exporter import ExportJob, bury, export_sessions, transcript_lines
from exporter.ledger import NewerLedgerError
from tests.exporter.conftest import Place, said


def set_version(place: Place, version: int) -> None:
    """Have the ledger be of another release."""
    with closing(apsw.Connection(place.job.ledger)) as database:
        database.pragma("user_version", version)


def moved(place: Place, to: Path) -> ExportJob:
    """The same state restored elsewhere: ledger and exports together, transcripts where they are."""
    to.mkdir()
    shutil.move(place.exports, to / "exports")
    shutil.move(place.job.ledger, to / "ledger.sqlite")
    return replace(place.job, export_folder=str(to / "exports"), ledger=str(to / "ledger.sqlite"))


def test_a_newer_ledger_is_left_as_it_is_and_nothing_is_exported(place: Place) -> None:
    """It knows what must not come back, in a way that is not known here."""
    place.write("s1.jsonl", [said("user", "hello")])
    place.export()
    set_version(place, 2)
    before = Path(place.job.ledger).read_bytes()
    place.write("s2.jsonl", [said("user", "purged by the newer release")])
    (failure,) = place.export().failures
    assert failure.code == "ledger_newer"
    assert place.names() == {"s1.md"}
    with pytest.raises(NewerLedgerError):
        bury(place.job, pattern="hello")
    assert Path(place.job.ledger).read_bytes() == before


def test_an_older_ledger_is_brought_up_to_date(place: Place) -> None:
    """It named the export folder by its absolute path; nothing is read anew for that."""
    place.write("s1.jsonl", [said("user", "hello")])
    place.export()
    with closing(apsw.Connection(place.job.ledger)) as database:
        for table in ("exported_session", "export_bookmark"):
            database.execute(f"UPDATE {table} SET folder = ?", (place.job.export_folder,))
        database.pragma("user_version", 0)
    report = place.export()
    assert (report.unchanged, report.read_bytes) == (1, 0)


def test_exports_that_are_restored_elsewhere_are_still_known(place: Place, tmp_path: Path) -> None:
    """Another machine, another home: what was exported stands, cites its transcript, and what was purged stays so."""
    place.write("s1.jsonl", [said("user", "hello")])
    place.write("s2.jsonl", [said("user", "the secret")])
    bury(place.job, session="s2")
    place.export()
    job = moved(place, tmp_path / "restored")
    report = export_sessions(job)
    assert (report.unchanged, report.read_bytes, report.forgotten) == (1, 0, 1)
    assert transcript_lines(Path(job.ledger), job.export_folder, [("s1.jsonl", 1, 9)]) == [1]
