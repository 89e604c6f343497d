"""What must outlive every kill: notes with a word of their own, conversations, and flushes that were granted."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.exporter.conftest import said
from tests.fake_qmd import FakeQmd
from tests.running import Running

AGENTS = ("main", "other")
FIRST_NOTES = 60
TURNS = 40
ORDINARY = "An ordinary day.\n" * 30


@dataclass
class House:
    """Two agents on a fake qmd, whose memory grows; `state` is the daemon's folder."""

    folder: Path
    draw: random.Random
    #: The agent and the path of each word's note.
    words: dict[str, tuple[str, str]] = field(default_factory=dict)
    sessions: list[str] = field(default_factory=list)
    #: How many compactions a session had when its flush was granted.
    granted: list[int] = field(default_factory=list)
    reloads: int = 0

    def __post_init__(self) -> None:
        self.fake = FakeQmd.install(self.folder / "fake")
        for agent in AGENTS:
            (self.transcripts / agent).mkdir(parents=True)
        for _ in range(FIRST_NOTES):
            self._write_notes()
        self._talk()

    @property
    def state(self) -> Path:
        """The state folder of the daemon below `folder`."""
        return self.folder / "daemon" / "state"

    @property
    def transcripts(self) -> Path:
        """A folder of transcripts for each agent."""
        return self.folder / "transcripts"

    def config(self) -> dict[str, Any]:
        """Both agents, with another time-out after each reload."""
        qmd = {
            "command": str(self.fake.path),
            "limits": {"timeoutMs": 10_000 + self.reloads},
            "sessions": {"enabled": True},
        }
        names = [{"id": agent, "workspace": str(self.folder / agent)} for agent in AGENTS]
        return {
            "memory": {"backend": "qmd", "qmd": qmd},
            "agents": {"defaults": {"memorySearch": {"provider": "static"}}, "list": names},
            "sidecar": {"transcripts": str(self.transcripts)},
            "tools": {"sessions": {"visibility": "agent"}},
        }

    def grow(self, daemon: Running) -> None:
        """A note for each agent, a conversation, and a flush that is granted."""
        self._write_notes()
        self._talk()
        assert self._flush(daemon, len(self.granted) + 1)["flush"]
        self.granted.append(len(self.granted) + 1)

    def faults(self, daemon: Running) -> list[str]:
        """What the last kill broke or lost. Brings the daemon up to date first."""
        for agent in AGENTS:
            daemon.sync(agent)
        daemon.call("POST", "/v1/agents/main/export", {})
        words = list(self.words)
        latest = {*words[:1], *words[-2 * len(AGENTS) :]}
        return [*self._pointers(daemon), *self._unfound(daemon, latest), *self._unsaid(), *self._flushed_again(daemon)]

    def missing(self, daemon: Running) -> list[str]:
        """Every note that is not found."""
        return self._unfound(daemon, self.words)

    def _write_notes(self) -> None:
        for agent in AGENTS:
            word = "".join(self.draw.choices("bdfgklmnprstvz", k=10))
            path = f"memory/note-{len(self.words)}.md"
            note = self.folder / agent / path
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(
                f"The password of the lighthouse is {word}.\n" + "An ordinary day.\n" * 30, encoding="utf-8"
            )
            self.words[word] = (agent, path)

    def _talk(self) -> None:
        name = f"s{len(self.sessions)}"
        lines = [json.dumps(said("user", f"turn {turn} of {name} end")) + "\n" for turn in range(TURNS)]
        (self.transcripts / AGENTS[0] / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
        self.sessions.append(name)

    def _flush(self, daemon: Running, compactions: int) -> dict[str, Any]:
        full = {"contextWindow": 200_000, "totalTokens": 190_000, "workspaceAccess": "rw"}
        # A session each: a cycle that goes on ends the one before it.
        body = {"sessionKey": "agent:main:main", "sessionId": f"s{compactions}", "compactionCount": compactions, **full}
        reply: dict[str, Any] = daemon.call("POST", "/v1/agents/main/memory_flush", body)
        return reply

    def _pointers(self, daemon: Running) -> list[str]:
        for folder in (daemon.client.path.parent / "qmd-sidecar", self.state / "run"):
            if json.loads((folder / "daemon.json").read_bytes())["pid"] != daemon.process.pid:
                return [f"{folder.name}/daemon.json names another daemon"]
        return []

    def _unfound(self, daemon: Running, words: Any) -> list[str]:
        lost = []
        for word in words:
            agent, path = self.words[word]
            if path not in [row["path"] for row in daemon.search(agent, word)["results"]]:
                lost.append(path)
        return [f"{len(lost)} notes are not found, such as {lost[0]}"] if lost else []

    def _unsaid(self) -> list[str]:
        exports = self.state / "agents" / "main" / "qmd" / "sessions"
        texts = {file.stem: file.read_text(encoding="utf-8") for file in exports.glob("*.md")}
        wanted = {name: [f"turn {turn} of {name} end" for turn in range(TURNS)] for name in self.sessions}
        broken = [name for name in wanted if any(texts.get(name, "").count(turn) != 1 for turn in wanted[name])]
        return [f"exports that are not whole: {broken[:3]}"] if broken or texts.keys() != wanted.keys() else []

    def _flushed_again(self, daemon: Running) -> list[str]:
        again = [count for count in self.granted[-2:] if self._flush(daemon, count)["reason"] != "under_way"]
        return [f"flushes that were granted and forgotten: {len(again)}"] if again else []
