"""The disk of the state is full: what is indexed is found, each thing that cannot be written says so, and heals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.exporter.conftest import said
from tests.running import Running
from tests.small_disk import SmallDisk, on_a_small_disk

FLUSH = {"sessionKey": "agent:main:main", "contextWindow": 200_000, "totalTokens": 190_000, "workspaceAccess": "rw"}


class Home:
    """An agent's notes and transcripts; they are on another disk than the state."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("workspace/memory", "transcripts"):
            (root / folder).mkdir(parents=True)
        self.note("boat", "The boat leaves at nine.\n")
        self.transcript("first", "We sailed to Corvo.")
        self.config: dict[str, Any] = {
            "memory": {"backend": "builtin", "qmd": {"sessions": {"enabled": True}}},
            "agents": {"defaults": {"workspace": str(root / "workspace")}},
            "sidecar": {"transcripts": str(root / "transcripts")},
            "tools": {"sessions": {"visibility": "agent"}},
        }

    def note(self, name: str, text: str) -> None:
        """Write a note."""
        (self.root / "workspace" / "memory" / f"{name}.md").write_text(text, encoding="utf-8")

    def transcript(self, name: str, text: str) -> None:
        """Write a transcript of one turn."""
        (self.root / "transcripts" / f"{name}.jsonl").write_text(json.dumps(said("user", text)) + "\n")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """One for all tests of the module."""
    return Home(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def disk(home: Home) -> Iterator[SmallDisk]:
    """The disk of a daemon that has indexed all there is."""
    with on_a_small_disk(home.root / "daemon", home.config, size="6m") as disk:
        disk.daemon.sync("main")
        yield disk


@contextmanager
def full(disk: SmallDisk) -> Iterator[Running]:
    """A disk that is full for a while."""
    disk.fill()
    try:
        yield disk.daemon
    finally:
        disk.free()


def code_of(replied: dict[str, Any]) -> str:
    """The code of the first notice, which must say what to do."""
    notice = replied["notices"][0]
    assert "ree space" in notice["action"]
    return str(notice["code"])


def test_a_full_disk_does_not_stop_searches_and_is_told(home: Home, disk: SmallDisk) -> None:
    """A note that could not be indexed is waited for, and the first sync with room takes it."""
    with full(disk) as daemon:
        home.note("plane", "The plane leaves at ten.\n")
        assert code_of(daemon.sync("main")) == "disk_full"
        found = daemon.search("main", "when does the boat leave?")
        assert found["results"][0]["path"] == "memory/boat.md"
        assert found["pending"]["files"] == 1
        assert code_of(found) == "sync_failed"
    assert disk.daemon.sync("main")["reports"][0]["changed"] == 1
    assert disk.daemon.search("main", "plane")["notices"] == []


def test_an_export_that_finds_no_room_keeps_the_old_ones(home: Home, disk: SmallDisk) -> None:
    """The next one catches up."""
    with full(disk) as daemon:
        home.transcript("second", "We flew to Flores.")
        assert code_of(daemon.call("POST", "/v1/agents/main/export", {})) == "disk_full"
        assert daemon.search("main", "sailed Corvo", corpus="sessions")["results"]
    disk.daemon.sync("main")
    assert disk.daemon.search("main", "Flores", corpus="sessions")["results"]


def test_a_purge_that_cannot_be_remembered_is_refused(disk: SmallDisk) -> None:
    """It must not seem done: without its tombstone the session would come back."""
    with full(disk) as daemon:
        told = daemon.call("POST", "/v1/agents/main/purge", {"pattern": "Corvo"})
        assert code_of(told) == "disk_full"
        assert "purge" not in told
    assert disk.daemon.call("POST", "/v1/agents/main/purge", {"pattern": "Corvo"})["purge"]["done"]


def test_a_session_is_not_flushed_while_that_cannot_be_remembered(disk: SmallDisk) -> None:
    """Else every turn would be preceded by a flush; with room the next turn is."""
    with full(disk) as daemon:
        assert daemon.call("POST", "/v1/agents/main/memory_flush", FLUSH)["reason"] == "ledger_unusable"
    assert disk.daemon.call("POST", "/v1/agents/main/memory_flush", FLUSH)["flush"] is True


def test_a_small_disk_is_not_filled_by_the_log_of_its_index(home: Home, disk: SmallDisk) -> None:
    """Each page is written to the log many times over; the index alone takes a half of this disk."""
    for number in range(3):
        lines = (f"word{number}x{line} at {line} is other{line * 13}y{number}\n" for line in range(3000))
        home.note(f"long-{number}", "".join(lines))
    assert disk.daemon.sync("main")["reports"][0]["changed"] == 3
