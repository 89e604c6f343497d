"""Conversations of a running daemon: exported on demand, searched, and complained of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.exporter.conftest import said
from tests.running import Running, path_without_qmd, running, until

ROUTE = "/v1/agents/main/export"


@pytest.fixture
def transcripts(tmp_path: Path) -> Path:
    """The folder that the gateway writes its transcripts to."""
    folder = tmp_path / "transcripts"
    folder.mkdir()
    return folder


@pytest.fixture
def daemon(tmp_path: Path, transcripts: Path) -> Iterator[Running]:
    """A daemon with one agent that remembers its conversations, and follows none by itself."""
    (tmp_path / "workspace").mkdir()
    config = {
        "memory": {"backend": "builtin", "qmd": {"sessions": {"enabled": True}}},
        "agents": {
            "defaults": {"workspace": str(tmp_path / "workspace"), "memorySearch": {"sync": {"watch": False}}},
        },
        "sidecar": {"transcripts": str(transcripts)},
        "tools": {"sessions": {"visibility": "agent"}},
    }
    with running(tmp_path / "daemon", config, path=path_without_qmd(tmp_path)) as daemon:
        daemon.sync("main")
        yield daemon


def write(transcripts: Path, name: str, *texts: str) -> None:
    """Write a transcript of what the user said."""
    lines = [json.dumps(said("user", text)) + "\n" for text in texts]
    (transcripts / name).write_text("".join(lines), encoding="utf-8")


def notices(daemon: Running) -> set[str]:
    """The codes of the agent's notices."""
    return {notice["code"] for notice in daemon.client.status("main")["notices"]}


def test_a_trial_tells_what_the_export_then_does(daemon: Running, transcripts: Path) -> None:
    """Nothing is found before it, and the words without the secret after it."""
    write(transcripts, "s1.jsonl", "The ferry to Corvo leaves at nine.", "password: hunter2")
    trial = daemon.call("POST", ROUTE, {"dryRun": True, "diff": True})["export"]
    assert (trial["written"], trial["redacted"]) == (1, {"assignment": 1})
    assert "+User: password: [redacted:assignment]" in trial["diff"]
    done = daemon.call("POST", ROUTE, {})["export"]
    assert (done["written"], done["redacted"], done["diff"]) == (1, trial["redacted"], "")
    until(lambda: daemon.search("main", "ferry Corvo")["results"], what="the exported conversation")
    assert daemon.call("POST", ROUTE, {})["export"]["unchanged"] == 1


def test_a_day_is_a_day_of_the_user(daemon: Running, transcripts: Path) -> None:
    """Transcripts of today are not older than today, and are older than a day that has not come."""
    write(transcripts, "s1.jsonl", "hello")
    assert daemon.call("POST", ROUTE, {"since": "9999-12-31"})["export"]["passedOver"] == 1
    assert daemon.call("POST", ROUTE, {"since": "0001-01-01"})["export"]["passedOver"] == 0


def test_transcripts_that_cannot_be_read_are_a_notice_until_they_can(daemon: Running, transcripts: Path) -> None:
    """And curated notes are indexed all the same."""
    (transcripts / "sessions.json").write_text("{", encoding="utf-8")
    assert daemon.call("POST", ROUTE, {})["notices"][0]["code"] == "session_store_unreadable"
    assert "session_store_unreadable" in notices(daemon)
    assert daemon.sync("main")["reports"]
    (transcripts / "sessions.json").unlink()
    daemon.call("POST", ROUTE, {})
    assert "session_store_unreadable" not in notices(daemon)


def test_an_agent_without_conversations_says_so_and_shows_what_they_would_be(tmp_path: Path) -> None:
    """Whoever thinks of switching them on sees first what would be written; no conversation is."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "transcripts").mkdir()
    write(tmp_path / "transcripts", "s1.jsonl", "the ferry to Corvo")
    config = {"memory": {"backend": "builtin"}, "agents": {"defaults": {"workspace": str(tmp_path / "workspace")}}}
    config["sidecar"] = {"transcripts": str(tmp_path / "transcripts")}
    with running(tmp_path / "daemon", config, path=path_without_qmd(tmp_path)) as daemon:
        refused = daemon.call("POST", ROUTE, {})
        assert ("export" in refused, refused["notices"][0]["code"]) == (False, "sessions_off")
        trial = daemon.call("POST", ROUTE, {"dryRun": True, "diff": True})
        assert (trial["export"]["written"], trial["notices"][0]["code"]) == (1, "sessions_off")
        assert "the ferry to Corvo" in trial["export"]["diff"]
        assert not list(daemon.state.rglob("*.md"))
