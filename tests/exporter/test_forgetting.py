"""What is deleted or purged stays away; what is only not there stays."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from exporter import BadPatternError, bury
from exporter.ledger import Ledger
from tests.exporter.conftest import Place, said

KEY = "agent:main:telegram:direct:7"


def stored(place: Place, text: str) -> None:
    """Write the gateway's list of sessions."""
    (place.source / "sessions.json").write_text(text, encoding="utf-8")


def state(place: Place) -> bytes:
    """Every byte of the exports and of the ledger."""
    files = [*place.exports.iterdir(), *place.source.parent.glob("sidecar.sqlite*")]
    return b"".join(file.read_bytes() for file in files)


def test_an_archive_of_a_deleted_session_buries_it(place: Place) -> None:
    """Neither the transcript nor its export come back from a backup, also when the archive is gone by then."""
    path = place.write("s1.jsonl", [said("user", "the ferry to Corvo")])
    place.write("s2.jsonl", [said("user", "hello")])
    place.export()
    backup = shutil.copytree(place.exports, place.exports.with_name("backup"))
    archive = path.rename(path.with_name("s1.jsonl.deleted.2026"))
    assert place.export().removed == 1
    archive.rename(path)
    shutil.copy(backup / "s1.md", place.exports)
    report = place.export()
    assert (report.removed, report.forgotten, place.names()) == (1, 1, {"s2.md"})
    assert b"Corvo" not in state(place)


def test_a_transcript_that_no_session_names_any_more_was_deleted(place: Place) -> None:
    """Its folder lists well, and so does the list of sessions."""
    path = place.write("s1.jsonl", [said("user", "hello")])
    stored(place, f'{{"{KEY}": {{"sessionId": "s1"}}}}')
    place.export()
    content = path.read_bytes()
    path.unlink()
    stored(place, "{}")
    assert place.export().removed == 1
    path.write_bytes(content)
    assert (place.export().forgotten, place.names()) == (1, set())


def test_a_missing_transcript_that_a_session_still_names_keeps_its_export(place: Place) -> None:
    """And comes back as if nothing had been."""
    path = place.write("s1.jsonl", [said("user", "hello")])
    place.write("s2.jsonl", [said("user", "hello")])
    stored(place, f'{{"{KEY}": {{"sessionId": "s1"}}}}')
    place.export()
    away = path.rename(place.source.parent / "away")
    report = place.export()
    assert (report.removed, [each.code for each in report.failures]) == (0, ["transcripts_missing"])
    away.rename(path)
    assert (place.export().unchanged, place.names()) == (2, {"s1.md", "s2.md"})


def test_a_folder_that_is_suddenly_empty_proves_nothing(place: Place) -> None:
    """A disk that is not mounted looks like that."""
    path = place.write("s1.jsonl", [said("user", "hello")])
    place.export()
    away = path.rename(place.source.parent / "away")
    assert place.export().failures[0].code == "transcripts_emptied"
    assert place.names() == {"s1.md"}
    away.rename(path)
    assert place.export().unchanged == 1


def test_a_purge_of_a_session_needs_no_proof_of_its_deletion(place: Place) -> None:
    """An export that is kept because its transcript is missing goes, too."""
    path = place.write("s1.jsonl", [said("user", "hello")])
    place.export()
    path.unlink()
    assert place.export().removed == 0
    assert bury(place.job, session="s1").sessions == 1
    report = place.export()
    assert (report.removed, report.failures, place.names()) == (1, [], set())


def test_a_missing_transcript_that_had_no_export_is_not_missed(place: Place) -> None:
    """Such as one of a job that the gateway has tidied up."""
    path = place.write("s1.jsonl", [said("user", "hello")])
    place.write("s2.jsonl", [said("user", "hello")])
    stored(place, '{"agent:main:cron:1": {"sessionId": "s1"}}')
    place.export()
    path.unlink()
    assert place.export().failures == []


def test_a_reset_session_is_not_deleted(place: Place) -> None:
    """Its archive may take the old name again."""
    path = place.write("s1.jsonl", [said("user", "hello")])
    place.export()
    archive = path.rename(path.with_name("s1.jsonl.reset.2026"))
    place.export()
    archive.rename(path)
    place.export()
    assert place.names() == {"s1.md"}


def test_a_trial_buries_nothing(place: Place) -> None:
    """Neither for the export nor for the purge."""
    path = place.write("s1.jsonl", [said("user", "hello")])
    place.write("s2.jsonl", [said("user", "hello")])
    place.export()
    away = path.rename(place.source.parent / "away")
    place.export(dry_run=True)
    away.rename(path)
    assert place.trial(pattern="hello").turns == 2
    assert place.trial(session="s1").sessions == 1
    assert place.export().unchanged == 2


def test_purged_turns_leave_the_export_and_stay_away(place: Place) -> None:
    """The whole turn goes, from every session that holds it, also when a backup of the export returns."""
    place.write("s1.jsonl", [said("user", "the word is\n  swordfish"), said("assistant", "noted")])
    place.write("s2.jsonl", [said("user", "hello")])
    place.export()
    backup = shutil.copytree(place.exports, place.exports.with_name("backup"))
    buried = bury(place.job, pattern="sword.ish")
    assert (buried.turns, buried.exports, buried.transcripts) == (1, ["s1.md"], {"s1.jsonl": 1})
    assert (place.export().written, b"swordfish" in state(place)) == (1, False)
    shutil.copy(backup / "s1.md", place.exports)
    place.export()
    assert place.read("s1.md").endswith("\nAssistant: noted\n")
    assert b"swordfish" not in state(place)


def test_purged_turns_stay_away_under_other_rules(place: Place) -> None:
    """What is remembered is what the transcript holds, and not what the rules of that day made of it."""
    place.write("s1.jsonl", [said("user", "my pin is 4711-swordfish"), said("user", "hello")])
    place.export()
    bury(place.job, pattern="swordfish")
    place.export(redact_patterns=["4711"])
    place.export(redact_patterns=[], zone="Asia/Tokyo")
    assert "swordfish" not in place.read("s1.md")


def test_metadata_is_no_turn(place: Place) -> None:
    """What is never exported does not cost a turn that is."""
    head = 'Sender (untrusted metadata):\n```json\n{"id": "swordfish"}\n```\n\n'
    place.write("s1.jsonl", [said("user", f"{head}hello")])
    assert bury(place.job, pattern="swordfish").turns == 0


def test_a_session_is_purged_by_its_key_with_all_its_files(place: Place) -> None:
    """Also by a second purge, when the ledger knows it no more."""
    place.write("s1.jsonl", [said("user", "hello")])
    place.write("s1.jsonl.reset.2026", [said("user", "the ferry to Corvo leaves at nine")])
    place.write("s2.jsonl", [said("user", "hello")])
    stored(place, f'{{"{KEY}": {{"sessionId": "s1"}}}}')
    place.export()
    buried = bury(place.job, session=KEY)
    assert (buried.sessions, buried.turns, len(buried.exports)) == (1, 2, 2)
    stored(place, "{}")
    assert (place.export().removed, place.names()) == (2, {"s2.md"})
    again = bury(place.job, session=KEY)
    assert (again.known, again.sessions, again.telling) == (True, 0, ["the ferry to Corvo leaves at nine"])
    assert not bury(place.job, session="agent:main:nobody").known


@pytest.mark.parametrize(
    "spelled", ["telegram:direct:7", "AGENT:main:Telegram:direct:7", " agent:main:telegram:direct:7"]
)
def test_a_key_is_purged_in_every_spelling_that_scope_reads_alike(place: Place, spelled: str) -> None:
    """Before and after it was buried; the key of another agent is another one."""
    place.write("s1.jsonl", [said("user", "the ferry to Corvo leaves at nine")])
    stored(place, f'{{"{KEY}": {{"sessionId": "s1"}}}}')
    place.export()
    assert not bury(place.job, session="agent:other:telegram:direct:7").known
    assert bury(place.job, session=spelled).sessions == 1
    stored(place, "{}")
    place.export()
    assert bury(place.job, session=spelled).known


@pytest.mark.parametrize("nobody", [" ", "agent:main", "agent:main:", ":"])
def test_a_key_that_names_nobody_buries_no_session_without_a_key(place: Place, nobody: str) -> None:
    """Transcripts of which nobody said whose they are have nothing in common."""
    place.write("s1.jsonl", [said("user", "the ferry to Corvo leaves at nine")])
    place.export()
    assert not bury(place.job, session=nobody).known
    assert place.export().unchanged == 1


def test_a_purge_forgets_no_chore(place: Place) -> None:
    """Whose a transcript is stays known, so that it stays left out when the store forgets it."""
    place.write("s1.jsonl", [said("user", "swordfish")])
    place.write("s2.jsonl", [said("user", "hello")])
    stored(place, '{"agent:main:cron:1": {"sessionId": "s1"}}')
    place.export()
    bury(place.job, pattern="swordfish")
    stored(place, "{}")
    place.export()
    assert place.names() == {"s2.md"}


@pytest.mark.parametrize("pattern", ["(", "a*", ""])
def test_a_pattern_that_cannot_be_meant_is_refused(place: Place, pattern: str) -> None:
    """It is never quoted."""
    with pytest.raises(BadPatternError):
        bury(place.job, pattern=pattern)


def test_a_ledger_holds_no_text_and_no_plain_digest_of_a_turn(place: Place, tmp_path: Path) -> None:
    """The salt is its own: what was purged cannot be guessed from another ledger's digests."""
    with Ledger(tmp_path / "a.sqlite", "x") as one, Ledger(tmp_path / "b.sqlite", "x") as other:
        assert one.tombstones.digest("swordfish") != other.tombstones.digest("swordfish")
        assert one.tombstones.digest(" sword \n fish") == one.tombstones.digest("sword fish")
