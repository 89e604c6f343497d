"""The gateway's session store: whose a transcript is, and which sessions are chores."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from exporter.session_store import STORE_NAME, SessionStore, StoreUnreadableError


def store(folder: Path, entries: object) -> SessionStore:
    """A store with these entries on disk."""
    (folder / STORE_NAME).write_text(json.dumps(entries))
    return SessionStore(folder)


@pytest.mark.parametrize(
    ("key", "chore"),
    [
        ("agent:main:main", False),
        ("agent:main:telegram:direct:1", False),
        ("agent:main:discord:channel:cron", False),
        ("agent:main:cron:daily:run:1", True),
        ("cron:daily", True),
        ("agent:main:subagent:1", True),
        ("agent:main:telegram:direct:1:subagent:2", True),
        ("agent:main:main:heartbeat", True),
        ("agent:main:dreaming-narrative-1", True),
        ("", False),
        ("agent:main", False),
    ],
)
def test_a_chore_is_known_by_its_key(tmp_path: Path, key: str, chore: bool) -> None:
    """Cron runs, heartbeats, sub-agents and dreams are chores; chats are not."""
    assert store(tmp_path, {}).is_chore(key) is chore


def test_what_a_chore_started_is_a_chore(tmp_path: Path) -> None:
    """Descent is followed over several sessions, and a circle ends."""
    entries = {
        "c": {"spawnedBy": "b"},
        "b": {"parentSessionKey": "agent:main:cron:x"},
        "p": {"spawnedBy": "q"},
        "q": {"spawnedBy": "p"},
    }
    sessions = store(tmp_path, entries)
    assert (sessions.is_chore("c"), sessions.is_chore("p")) == (True, False)


def test_a_transcript_is_found_by_file_or_by_id(tmp_path: Path) -> None:
    """The file that the entry names wins over the session's id; entries of other shapes are skipped."""
    entries = {"a": {"sessionId": "1"}, "b": {"sessionId": "2", "sessionFile": "/x/2-topic-7.jsonl"}, "c": 5, "d": {}}
    sessions = store(tmp_path, entries)
    assert [sessions.key_of(name) for name in ["1.jsonl", "2-topic-7.jsonl", "2.jsonl"]] == ["a", "b", ""]


def test_a_missing_store_is_empty(tmp_path: Path) -> None:
    """A folder of transcripts alone is fine."""
    assert SessionStore(tmp_path).key_of("1.jsonl") == ""


@pytest.mark.parametrize("text", ["{", "[]", ""])
def test_a_broken_store_is_an_error(tmp_path: Path, text: str) -> None:
    """What cannot be read is not taken for empty."""
    (tmp_path / STORE_NAME).write_text(text)
    with pytest.raises(StoreUnreadableError):
        SessionStore(tmp_path)


def test_half_an_emoji_in_a_name_does_not_break_the_store(tmp_path: Path) -> None:
    """The gateway cuts the names of chats at a length, and JavaScript writes what is left of a pair."""
    (tmp_path / STORE_NAME).write_text('{"a": {"sessionId": "1", "displayName": "Corvo \\ud83d"}}')
    assert SessionStore(tmp_path).key_of("1.jsonl") == "a"


def test_a_pipe_in_the_place_of_the_store_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / STORE_NAME)
    with pytest.raises(StoreUnreadableError):
        SessionStore(tmp_path)


def test_the_store_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text('{"a": {"sessionId": "1"}}')
    (tmp_path / STORE_NAME).symlink_to("real.json")
    assert SessionStore(tmp_path).key_of("1.jsonl") == "a"
