"""Whose an export is: told by the gateway's store, and remembered when the store forgets."""

from __future__ import annotations

import json
from pathlib import Path

from exporter import Owners, owners
from tests.exporter.conftest import Place, said

MAIN, PEER, CHILD = "agent:main:main", "agent:main:telegram:direct:7", "agent:main:acp:9"


def store(place: Place, sessions: dict[str, dict[str, str]]) -> None:
    """Write the gateway's store."""
    (place.source / "sessions.json").write_text(json.dumps(sessions), encoding="utf-8")


def known(place: Place) -> Owners:
    """What the ledger knows."""
    return owners(Path(place.job.ledger), place.job.export_folder)


def keys(place: Place) -> dict[str, str]:
    """The session key of every export."""
    return {each.export: each.session_key for each in known(place).exported if each.export}


def test_there_is_nothing_to_know_before_the_first_export(place: Place) -> None:
    """And asking makes no ledger."""
    assert known(place) == Owners()
    assert not Path(place.job.ledger).exists()


def test_an_export_belongs_to_the_session_that_the_store_names(place: Place) -> None:
    """And to nobody where it names none."""
    place.write("s1.jsonl", [said("user", "hello")])
    place.write("s2.jsonl", [said("user", "hello")])
    store(place, {MAIN: {"sessionId": "s1"}})
    place.export()
    assert keys(place) == {"s1.md": MAIN, "s2.md": ""}
    assert {each.session_id for each in known(place).exported} == {"s1", "s2"}


def test_a_store_that_is_late_is_believed_without_a_new_export(place: Place) -> None:
    """Transcripts are written before the store."""
    place.write("s1.jsonl", [said("user", "hello")])
    place.export()
    store(place, {MAIN: {"sessionId": "s1"}})
    assert place.export().written == 0
    assert keys(place) == {"s1.md": MAIN}


def test_an_archive_stays_with_the_session_that_it_was_of(place: Place) -> None:
    """The store names the new transcript alone."""
    path = place.write("s1.jsonl", [said("user", "before")])
    store(place, {PEER: {"sessionId": "s1"}})
    place.export()
    path.rename(place.source / "s1.jsonl.reset.2026")
    place.write("s2.jsonl", [said("user", "after")])
    store(place, {PEER: {"sessionId": "s2"}})
    place.export()
    place.export()
    assert keys(place) == {"s1.jsonl.reset.2026.md": PEER, "s2.md": PEER}
    assert {each.session_id for each in known(place).exported} == {"s1", "s2"}


def test_who_started_whom_is_known_as_long_as_there_is_an_export(place: Place) -> None:
    """Also when the store has forgotten the session; and not longer."""
    path = place.write("s1.jsonl", [said("user", "hello")])
    store(place, {MAIN: {}, CHILD: {"sessionId": "s1", "spawnedBy": MAIN}})
    place.export()
    assert known(place).parents == {(CHILD, MAIN)}
    store(place, {MAIN: {}})
    place.export()
    assert known(place).parents == {(CHILD, MAIN)}
    path.unlink()
    place.export()
    place.export()
    assert known(place).parents == frozenset()


def test_what_is_left_out_is_known_as_that(place: Place) -> None:
    """A cron run has no export, and a session without a word neither."""
    place.write("cron.jsonl", [said("user", "hello")])
    place.write("mute.jsonl", [{"type": "session"}])
    store(place, {"agent:main:cron:1": {"sessionId": "cron"}})
    place.export()
    found = {each.transcript: (each.export, each.left_out) for each in known(place).exported}
    assert found == {"cron.jsonl": ("", True), "mute.jsonl": ("", False)}
