"""Conversations of a running daemon as the gateway writes them: found once enough was said, and gone when deleted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.exporter.conftest import said
from tests.running import Running, path_without_qmd, running, until


@pytest.fixture
def transcripts(tmp_path: Path) -> Path:
    """The folder that the gateway will write its transcripts to."""
    return tmp_path / "transcripts"


@pytest.fixture
def daemon(tmp_path: Path, transcripts: Path) -> Iterator[Running]:
    """A daemon that exports a conversation after three more lines, and whose clock asks for nothing."""
    (tmp_path / "workspace" / "memory").mkdir(parents=True)
    transcripts.mkdir()
    say(transcripts, "s1.jsonl", "hello")
    sync = {"sessions": {"deltaMessages": 3}}
    search = {"sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}, "sync": sync}
    config = {
        "memory": {"backend": "builtin", "qmd": {"update": {"interval": "0"}}},
        "agents": {"defaults": {"workspace": str(tmp_path / "workspace"), "memorySearch": search}},
        "sidecar": {"transcripts": str(transcripts)},
        "tools": {"sessions": {"visibility": "agent"}},
    }
    with running(tmp_path / "daemon", config, path=path_without_qmd(tmp_path)) as daemon:
        until(lambda: finds(daemon, "hello"), what="the conversation from before the start")
        yield daemon


def say(transcripts: Path, name: str, *texts: str) -> None:
    """Add what the user said."""
    with (transcripts / name).open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(said("user", text)) + "\n" for text in texts)


def finds(daemon: Running, word: str, corpus: str = "sessions") -> bool:
    """Whether a word is found."""
    return bool(daemon.search("main", word, corpus=corpus)["results"])


def test_what_is_said_is_found_once_it_is_enough(daemon: Running, transcripts: Path, tmp_path: Path) -> None:
    """A note that is written meanwhile is found at once, and takes nothing along."""
    say(transcripts, "s1.jsonl", "The zebracomet came.")
    (tmp_path / "workspace/memory/note.md").write_text("A walnutpier stands there.\n", encoding="utf-8")
    until(lambda: finds(daemon, "walnutpier", "memory"), what="the note")
    assert not finds(daemon, "zebracomet")
    say(transcripts, "s1.jsonl", "It went.", "It will come back.")
    until(lambda: finds(daemon, "zebracomet"), what="the conversation")


def test_what_is_not_enough_is_found_after_a_sync_that_was_asked_for(daemon: Running, transcripts: Path) -> None:
    """As after one at an interval."""
    say(transcripts, "s1.jsonl", "The zebracomet came.")
    daemon.sync("main")
    assert finds(daemon, "zebracomet")


def test_a_conversation_that_begins_is_found_however_short_it_is(daemon: Running, transcripts: Path) -> None:
    """And gone when the gateway deletes it, under whatever name it keeps it."""
    say(transcripts, "new.jsonl", "The zebracomet came.")
    until(lambda: finds(daemon, "zebracomet"), what="the new conversation")
    (transcripts / "new.jsonl").rename(transcripts / "new.jsonl.deleted.2026")
    until(lambda: not finds(daemon, "zebracomet"), what="the end of the deleted conversation")


def test_a_reset_is_followed_at_once(daemon: Running, transcripts: Path) -> None:
    """What was said and never was enough is found in the archive."""
    say(transcripts, "s1.jsonl", "The zebracomet came.")
    (transcripts / "s1.jsonl").rename(transcripts / "s1.jsonl.reset.2026")
    reply = until(
        lambda: (found := daemon.search("main", "zebracomet"))["results"] and found, what="the archived conversation"
    )
    assert reply["results"][0]["session"]["id"] == "s1"


def test_a_folder_that_went_and_came_back_is_followed(daemon: Running, transcripts: Path) -> None:
    """A disk that was away loses nothing that was said."""
    away = transcripts.rename(transcripts.with_name("away"))
    say(away, "s1.jsonl", "The zebracomet came.", "It went.", "It will come back.")
    assert finds(daemon, "hello")
    away.rename(transcripts)
    until(lambda: finds(daemon, "zebracomet"), what="what was said meanwhile")
