"""What of an embedding provider's leaves the daemon: connections, and secrets."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sidecar.client import ClientError
from tests.running import Running, running

CANARY = "canary-5b1e"
#: Runs first in every Python process of a daemon, and writes down each that starts and each address it goes to.
_GUARD = """
import os, sys

def _note(*words):
    with open(os.environ["GUARD_FILE"], "a") as file:
        print(*words, file=file)

def _watch(event, args):
    if event in ("socket.connect", "socket.sendto") and isinstance(args[1], tuple):
        _note("connected", args[1][0])
    elif event == "socket.getaddrinfo":
        _note("looked up", args[0])

sys.addaudithook(_watch)
_note("started", *sys.orig_argv)
"""


class Guard:
    """Tells of a daemon's processes and their connections over a network, afterwards."""

    def __init__(self, folder: Path) -> None:
        self._notes = folder / "connections"
        code = folder / "guard"
        code.mkdir(parents=True)
        (code / "sitecustomize.py").write_text(_GUARD, encoding="utf-8")
        self.environ = {"PYTHONPATH": str(code), "GUARD_FILE": str(self._notes)}

    def notes(self, kind: str) -> list[str]:
        """What was written down of a kind: `started`, `connected`, `looked up`."""
        lines = self._notes.read_text(encoding="utf-8").splitlines()
        return [line.removeprefix(kind).strip() for line in lines if line.startswith(kind)]


@pytest.fixture
def guard(tmp_path: Path) -> Guard:
    """A guard for the daemon of this test."""
    return Guard(tmp_path / "guarded")


def configuration(folder: Path, search: Mapping[str, Any], *, backend: str) -> dict[str, Any]:
    """One agent with one note; everything is logged."""
    workspace = folder / "notes"
    workspace.mkdir(parents=True, exist_ok=True)
    (workspace / "MEMORY.md").write_text("The boat leaves at nine.\n", encoding="utf-8")
    return {
        "memory": {"backend": backend},
        "agents": {"defaults": {"workspace": str(workspace), "memorySearch": search}},
        "sidecar": {"log": {"level": "debug"}},
    }


def closed_port() -> int:
    """A port of this machine that refuses connections."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def use(daemon: Running) -> str:
    """Index, ask, and look at the status; whatever fails, all that was said."""
    said: list[Any] = []
    for step in (
        lambda: daemon.sync("main", force=True, embed=True),
        lambda: daemon.search("main", "when does the boat leave?"),
        lambda: daemon.call("GET", "/v1/status"),
        lambda: daemon.call("GET", "/v1/agents/main"),
    ):
        try:
            said.append(step())
        except ClientError as error:
            said.append(vars(error) | {"text": str(error)})
    return json.dumps(said, default=str)


def test_with_the_backend_qmd_nothing_leaves_the_machine_by_itself(tmp_path: Path, guard: Guard) -> None:
    """A key in the environment is for chat; notes that qmd was chosen to keep here stay here."""
    keys = dict.fromkeys(("OPENAI_API_KEY", "GEMINI_API_KEY", "VOYAGE_API_KEY", "MISTRAL_API_KEY"), CANARY)
    config = configuration(tmp_path, {"provider": "auto"}, backend="qmd")
    with running(tmp_path / "d", config, **guard.environ, **keys) as daemon:
        assert "The boat leaves at nine." in use(daemon)
        (agent,) = daemon.call("GET", "/v1/status")["agents"]
        embedding = agent["engines"]["builtin"]["embedding"]
    assert any("sidecar.worker" in line for line in guard.notes("started"))
    assert guard.notes("connected") + guard.notes("looked up") == []
    assert (embedding["requested"], embedding["chosenBy"]) == ("auto", "auto")
    assert embedding["provider"] in ("local", "static", "none")
    assert "memory.backend qmd" in embedding["reason"]


def test_a_named_provider_is_connected_to(tmp_path: Path, guard: Guard) -> None:
    """Which also shows that a connection would have been noticed."""
    pytest.importorskip("backends.embedding.remote.transport")
    remote = {"baseUrl": f"http://127.0.0.1:{closed_port()}/v1", "apiKey": CANARY}
    config = configuration(tmp_path, {"provider": "openai", "remote": remote}, backend="qmd")
    with running(tmp_path / "d", config, **guard.environ) as daemon:
        use(daemon)
    assert "127.0.0.1" in guard.notes("connected")


def test_the_secrets_of_a_provider_are_shown_and_written_nowhere(tmp_path: Path) -> None:
    """Neither by what answers, nor in logs, nor in any file of the state, also where the provider refuses to talk."""
    remote = {
        "baseUrl": f"http://127.0.0.1:{closed_port()}/v1",
        "apiKey": f"{CANARY}-key",
        "headers": {"X-Token": f"{CANARY}-header"},
    }
    search = {"provider": "openai", "fallback": "mistral", "remote": remote}
    config = configuration(tmp_path, search, backend="builtin")
    folder = tmp_path / "d"
    with running(folder, config, MISTRAL_API_KEY=f"{CANARY}-variable") as daemon:
        said = use(daemon)
        for verb in (["status"], ["agents"], ["config", "show"], ["config", "show", "--origin"], ["config", "check"]):
            for flags in ([], ["--json"]):
                said += _cli(daemon, *verb, *flags)
    assert "openai" in said
    assert CANARY not in said
    written = [path for path in folder.rglob("*") if path.is_file() and path.name != "config.json5"]
    assert daemon.log in written
    assert [path for path in written if CANARY.encode() in path.read_bytes()] == []


def _cli(daemon: Running, *args: str) -> str:
    """What a verb prints, against this daemon and its configuration."""
    places = ["--socket", str(daemon.client.path), "--config", str(daemon.folder / "config.json5")]
    done = subprocess.run(
        [sys.executable, "-m", "sidecar", *args, *places],
        env={"HOME": str(daemon.folder), "PATH": "/usr/bin:/bin", "MISTRAL_API_KEY": f"{CANARY}-variable"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr
