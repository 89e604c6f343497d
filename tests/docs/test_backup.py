"""The page about backups: its copy is taken from a daemon at work, restored elsewhere, and keeps every promise."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from backends.builtin.migrations import SCHEMA_VERSION
from exporter import ledger
from sidecar.tools import flush_ledger
from tests.golden.made import BURIED, FLUSH, PURGED, lay, use
from tests.running import REPOSITORY, Running, alongside, running

PAGE = (REPOSITORY / "docs" / "backup.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def restored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A daemon in a new home, with the notes, the transcripts, the configuration and the backup of another one."""
    old, new = tmp_path_factory.mktemp("old"), tmp_path_factory.mktemp("new")
    with running(old / "daemon", lay(old)) as daemon:
        use(daemon)
        over = Event()
        with alongside(lambda: _work(daemon, over), over):
            _back_up(daemon.state, new / "daemon" / "state")
    shutil.rmtree(old)
    with running(new / "daemon", lay(new)) as daemon:
        yield daemon


def _work(daemon: Running, over: Event) -> None:
    """Write to all that is copied, until it was."""
    while not over.is_set():
        daemon.sync("main", force=True)
        daemon.call("POST", "/v1/agents/main/memory_flush", {**FLUSH, "sessionKey": "agent:main:direct:other"})


def _back_up(state: Path, backup: Path) -> None:
    (command,) = re.findall(r"```sh\n(python3 .*?)```", PAGE, re.DOTALL)
    environ = {"STATE": str(state), "BACKUP": str(backup), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    subprocess.run(["/bin/sh", "-ec", command], env=environ, check=True)


def test_notes_and_conversations_are_found_again(restored: Running) -> None:
    """The index was not copied: the first sync has built it."""
    restored.sync("main")
    assert restored.search("main", "when does the boat leave?")["results"][0]["path"] == "memory/boat.md"
    assert restored.search("main", "tomatoes terrace", corpus="sessions")["results"]


def test_what_was_forgotten_does_not_come_back(restored: Running) -> None:
    """Its transcripts did."""
    assert restored.call("POST", "/v1/agents/main/export", {})["export"]["forgotten"] == 1
    texts = [file.read_bytes() for file in restored.state.rglob("*") if file.is_file()]
    assert not [text for text in texts for gone in (PURGED, BURIED) if gone.encode() in text]


def test_what_was_flushed_is_not_flushed_again(restored: Running) -> None:
    """The same session, at the same compaction."""
    assert restored.call("POST", "/v1/agents/main/memory_flush", FLUSH)["reason"] == "already_flushed"


@pytest.mark.parametrize(
    ("file", "version"),
    [
        ("memory/<agent>.sqlite", SCHEMA_VERSION),
        ("agents/<agent>/exports.sqlite", ledger.VERSION),
        ("agents/<agent>/flushes.sqlite", flush_ledger.VERSION),
    ],
)
def test_the_page_tells_the_version_of_each_file(file: str, version: int) -> None:
    """Whoever raises one adds a state of the release before to `tests/golden`."""
    assert f"| `{file}` | {version} |" in PAGE
