"""Forgetting by a running daemon: what is deleted or purged is in no byte of its state."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from sidecar.client import ClientError, RefusedError
from tests.exporter.conftest import said
from tests.running import QMD, Running, path_without_qmd, real_qmd_path, running, until

SECRET = "swordfish-4711"
KEY = "agent:main:telegram:direct:7"


class Agents:
    """Two agents with conversations, and a secret in one session of each."""

    def __init__(self, root: Path, **memory: Any) -> None:
        self.root = root
        self.transcripts = {agent: root / "transcripts" / agent for agent in ("main", "other")}
        for agent, folder in self.transcripts.items():
            folder.mkdir(parents=True)
            (root / agent / "memory").mkdir(parents=True)
            self.write(agent, "s1.jsonl", "The ferry to Corvo leaves at nine.", f"the word is {SECRET}, keep it safe")
            self.write(agent, "s2.jsonl", "Tomatoes want a warm place by the window.")
            (folder / "sessions.json").write_text(json.dumps({KEY.replace("main", agent): {"sessionId": "s1"}}))
        self.config = {
            "memory": {"backend": "builtin", **memory, "qmd": {"sessions": {"enabled": True}}},
            "agents": {"list": [{"id": agent, "workspace": str(root / agent)} for agent in self.transcripts]},
            "sidecar": {"transcripts": str(root / "transcripts" / "{agentId}")},
            "tools": {"sessions": {"visibility": "agent"}},
        }

    def write(self, agent: str, name: str, *texts: str) -> Path:
        """Write a transcript of what the user said."""
        path = self.transcripts[agent] / name
        path.write_text("".join(json.dumps(said("user", text)) + "\n" for text in texts), encoding="utf-8")
        return path

    @contextmanager
    def daemon(self, path: str | None = None) -> Iterator[Running]:
        """A daemon that knows both agents."""
        with running(self.root / "daemon", self.config, path=path or path_without_qmd(self.root)) as daemon:
            yield daemon

    def holding(self, text: str, agent: str = "main") -> set[str]:
        """The files of the state of an agent, and of the log, that hold a text."""
        state = self.root / "daemon" / "state"
        files = [path for path in state.rglob("*") if path.is_file() and not path.is_symlink()]
        other = ({"main", "other"} - {agent}).pop()
        mine = [path for path in files if other not in path.relative_to(state).as_posix()]
        return {
            path.name for path in [*mine, self.root / "daemon" / "daemon.log"] if text.encode() in path.read_bytes()
        }


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    """Agents whose daemon was not started yet."""
    return Agents(tmp_path)


def purge(daemon: Running, agent: str = "main", **body: Any) -> Mapping[str, Any]:
    """The report of a purge."""
    report: Mapping[str, Any] = daemon.call("POST", f"/v1/agents/{agent}/purge", body)["purge"]
    return report


def test_a_deleted_session_is_gone_from_every_file_with_the_next_sync(agents: Agents) -> None:
    with agents.daemon() as daemon:
        daemon.sync("main")
        assert agents.holding(SECRET) >= {"s1.md", "main.sqlite"}
        transcript = agents.transcripts["main"] / "s1.jsonl"
        transcript.rename(transcript.with_name("s1.jsonl.deleted.2026"))
        daemon.sync("main")
        assert agents.holding(SECRET) == set()
        assert not daemon.search("main", "ferry Corvo")["results"]


def test_a_purged_pattern_is_nowhere_and_does_not_come_back(agents: Agents) -> None:
    """The rest of the session is still found, and the other agent keeps what it has."""
    with agents.daemon() as daemon:
        for agent in agents.transcripts:
            daemon.sync(agent)
        trial = purge(daemon, pattern="swordfish-[0-9]+", dryRun=True)
        assert (trial["turns"], trial["done"]) == (1, False)
        assert trial["chunks"] > 0
        assert agents.holding(SECRET)
        report = purge(daemon, pattern="swordfish-[0-9]+")
        assert report["done"], report
        assert [report[key] for key in ("turns", "chunks", "vectors")] == [
            trial[key] for key in ("turns", "chunks", "vectors")
        ]
        assert report["filesScanned"] > 3
        assert [row["turns"] for row in report["transcripts"]] == [1]
        daemon.sync("main", force=True)
        assert agents.holding(SECRET) == set()
        assert agents.holding("swordfish-[0-9]+") == set()
        assert daemon.search("main", "ferry Corvo")["results"]
        assert daemon.search("other", "swordfish")["results"]


def test_a_purged_session_is_nowhere(agents: Agents) -> None:
    """By its key; a second purge has nothing left to do, and an unknown session is none."""
    with agents.daemon() as daemon:
        daemon.sync("main")
        report = purge(daemon, session=KEY)
        assert (report["sessions"], report["turns"], report["done"]) == (1, 2, True), report
        assert agents.holding(SECRET) == set()
        assert agents.holding("ferry to Corvo") == set()
        assert (purge(daemon, session=KEY)["sessions"], purge(daemon, session=KEY)["done"]) == (0, True)
        with pytest.raises(RefusedError, match="no session"):
            purge(daemon, session="agent:main:nobody")


def test_an_engine_that_is_not_there_keeps_nothing(tmp_path: Path) -> None:
    """What it had is removed without it; the other agent's stays."""
    agents = Agents(tmp_path, backend="auto")
    indexes = [
        tmp_path / "daemon" / "state" / "agents" / agent / "qmd" / "xdg-cache" / "qmd" / "index.sqlite"
        for agent in agents.transcripts
    ]
    for index in indexes:
        index.parent.mkdir(parents=True)
        index.write_text(SECRET)
    with agents.daemon() as daemon:
        daemon.sync("main")
        report = purge(daemon, pattern=SECRET)
        assert report["done"], report
        assert [index.exists() for index in indexes] == [False, True]


def test_a_note_that_holds_it_is_named_and_left_alone(agents: Agents) -> None:
    """It is the user's; what the index has of it is told, too."""
    note = agents.root / "main" / "MEMORY.md"
    note.write_text(f"# Words\n{SECRET}\n\n{SECRET} {SECRET}\n")
    with agents.daemon() as daemon:
        daemon.sync("main")
        report = purge(daemon, pattern=SECRET)
        assert report["notes"] == [{"file": str(note), "lines": 2}]
        assert not report["done"]
        assert any(row["file"].endswith("main.sqlite") for row in report["remaining"])
        note.write_text("# Words\n")
        daemon.sync("main")
        assert purge(daemon, pattern=SECRET)["done"]


@pytest.mark.parametrize("pattern", ["swordfish(", "(swordfish)*"])
def test_a_bad_pattern_is_refused_and_not_quoted(agents: Agents, pattern: str) -> None:
    with agents.daemon() as daemon:
        with pytest.raises(RefusedError) as refused:
            purge(daemon, pattern=pattern)
        assert refused.value.status == 400
        assert "swordfish" not in json.dumps(refused.value.as_json())
        assert agents.holding(pattern) == set()


def test_a_purge_that_was_killed_is_finished_by_the_next(agents: Agents) -> None:
    """At five points; nothing is called done before it is."""
    words = [f"{SECRET}-{attempt}" for attempt in range(5)]
    for attempt, word in enumerate(words):
        agents.write("main", f"k{attempt}.jsonl", f"the word is {word}", "and the ferry waits")
        with agents.daemon() as daemon:
            daemon.sync("main")
            for earlier in words[max(0, attempt - 1) : attempt]:
                assert purge(daemon, pattern=earlier)["done"]
                assert agents.holding(earlier) == set()
            timer = Timer(0.04 * attempt, os.kill, (daemon.process.pid, signal.SIGKILL))
            timer.start()
            with suppress(ClientError):
                assert not purge(daemon, pattern=word)["done"] or not agents.holding(word)
            daemon.process.wait(10)


@pytest.mark.real_qmd
@pytest.mark.skipif(not QMD.exists(), reason="the real qmd is not installed")
def test_the_real_qmd_forgets(tmp_path: Path) -> None:
    """Deleted with the next sync, and purged with its cache and its log."""
    agents = Agents(tmp_path, backend="qmd")
    with agents.daemon(real_qmd_path()) as daemon:
        daemon.sync("main")
        until(lambda: agents.holding(SECRET) >= {"index.sqlite", "main.sqlite"}, what="both indexes")
        assert daemon.search("main", "ferry Corvo")["results"]
        report = purge(daemon, pattern=SECRET)
        assert report["done"], report
        assert agents.holding(SECRET) == set()
        assert daemon.search("main", "ferry Corvo")["results"]
        transcript = agents.transcripts["main"] / "s2.jsonl"
        transcript.rename(transcript.with_name("s2.jsonl.deleted.2026"))
        daemon.sync("main")
        assert agents.holding("Tomatoes want") == set()


def test_the_proof_reads_an_index_whatever_its_name(agents: Agents) -> None:
    """Brackets in a path are brackets."""
    agents.config["agents"]["defaults"] = {"memorySearch": {"store": {"path": str(agents.root / "[{agentId}].sqlite")}}}
    left = agents.root / "[main].sqlite-left"
    left.write_text(SECRET)
    with agents.daemon() as daemon:
        daemon.sync("main")
        assert purge(daemon, pattern=SECRET)["remaining"] == [{"file": str(left), "count": 1}]
