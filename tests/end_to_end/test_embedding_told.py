"""What an operator can ask of a running daemon about embeddings: whether the provider answers, and what is to come."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from sidecar.client import RefusedError
from tests.running import Running, running

DEADLINE_S = 60
PROVIDERS = {"main": "static", "plain": "none", "wrong": "openai"}
#: A note of several chunks.
NOTE = "\n\n".join(f"## Day {day}\n\n" + f"Boats left for Corvo on day {day}. " * 20 for day in range(20))


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A daemon whose agents have a provider that works, none on purpose, and one that lacks its key."""
    folder = tmp_path_factory.mktemp("embedding")
    agents = []
    for name, provider in PROVIDERS.items():
        workspace = folder / name
        (workspace / "memory").mkdir(parents=True)
        (workspace / "memory" / "a.md").write_text(NOTE, encoding="utf-8")
        agents.append({"id": name, "workspace": str(workspace), "memorySearch": {"provider": provider}})
    config = {"memory": {"backend": "auto"}, "agents": {"list": agents}}
    with running(folder / "daemon", config) as daemon:
        for name in PROVIDERS:
            daemon.sync(name)
        yield daemon


def cli(daemon: Running, *args: str) -> subprocess.CompletedProcess[str]:
    """Run a verb against this daemon."""
    command = [sys.executable, "-m", "sidecar", *args, "--socket", str(daemon.client.path)]
    environ = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    return subprocess.run(command, env=environ, capture_output=True, encoding="utf-8", timeout=DEADLINE_S)


def test_a_deep_status_has_the_provider_embed_something(daemon: Running) -> None:
    """Without qmd, which is missing here: it is the built-in index that embeds."""
    told = daemon.call("GET", "/v1/agents/main/status?deep=true")["embedding"]
    assert (told["provider"], told["model"], told["dims"]) == ("static", "l2_supercat_256", 256)
    assert told["tookMs"] > 0


def test_a_provider_that_cannot_be_asked_is_an_answer(daemon: Running) -> None:
    """With its code and the next step."""
    told = daemon.call("GET", "/v1/agents/wrong/status?deep=true")["embedding"]
    assert (told["provider"], told["error"]["code"]) == ("openai", "embedding_not_configured")
    assert "apiKey" in told["error"]["action"]


def test_a_status_that_is_not_deep_asks_nobody(daemon: Running) -> None:
    """It is taken every few seconds."""
    assert "embedding" not in daemon.call("GET", "/v1/agents/main/status")
    assert "embedding" not in daemon.call("GET", "/v1/agents/main/status?deep=false")


def test_deep_is_true_or_false(daemon: Running) -> None:
    """A typo is not silently a no."""
    with pytest.raises(RefusedError) as refused:
        daemon.call("GET", "/v1/agents/main/status?deep=yes")
    assert (refused.value.status, refused.value.code) == (400, "invalid_request")


def test_the_screen_has_a_line_for_each_provider(daemon: Running) -> None:
    """One that fails is told with its remedy, and makes the verb fail."""
    result = cli(daemon, "status", "--deep")
    assert result.returncode == 1, result.stderr
    assert "● main: embedding by static l2_supercat_256, 256 dimensions, " in result.stdout
    assert "○ plain: embedding: keywords only, on purpose\n" in result.stdout
    assert "▲ wrong: embedding by openai: The embedding provider openai has no API key." in result.stdout
    assert "(embedding_not_configured; try: Set `memorySearch.remote.apiKey`" in result.stdout


def test_one_agent_can_be_looked_into(daemon: Running) -> None:
    """For a person, and for a program."""
    assert cli(daemon, "status", "main", "--deep").returncode == 0
    assert json.loads(cli(daemon, "status", "plain", "--deep", "--json").stdout)["embedding"]["provider"] == "none"


def rewrite(daemon: Running, agent: str, name: str, text: str) -> None:
    (daemon.folder.parent / agent / "memory" / name).write_text(text, encoding="utf-8")


def test_an_estimate_is_an_answer_without_work(daemon: Running) -> None:
    """For an index that is up to date, and for one without vectors."""
    nothing = dict.fromkeys(("files", "chunks", "tokens", "cached"), 0)
    facts = daemon.call("GET", "/v1/agents/main/status")["engines"]["builtin"]
    assert facts["chunks"] > 1
    whose = {"provider": "static", "model": "l2_supercat_256", "hosted": False, "rebuild": False}
    reply = daemon.call("POST", "/v1/agents/main/sync", {"estimate": True})
    assert reply == {"queued": False, "reports": [], "estimate": {**whose, **nothing, "kept": facts["chunks"]}}
    told = daemon.call("POST", "/v1/agents/plain/sync", {"estimate": True})["estimate"]
    assert told == {**whose, **nothing, "provider": "none", "model": None, "kept": 0}


def test_the_estimate_is_a_table(daemon: Running) -> None:
    """What would go to somebody else is told apart, whether or not there is a key for it yet."""
    result = cli(daemon, "embed", "--estimate")
    heading, main, plain, wrong = result.stdout.splitlines()
    assert heading.split() == ["AGENT", "PROVIDER", "FILES", "CHUNKS", "TOKENS", "CACHED", "KEPT"]
    assert main.split()[:7] == ["main", "static", "l2_supercat_256", "0", "0", "0", "0"]
    assert plain.split() == ["plain", "none", "(keywords", "only)", "0", "0", "0", "0", "0"]
    assert wrong.split()[:4] == ["wrong", "openai", "text-embedding-3-small", "(hosted)"]
    assert int(wrong.split()[5]) > 1
    assert result.returncode == 0


def test_embed_embeds_and_waits(daemon: Running) -> None:
    """When it returns, the new note has its vectors."""
    rewrite(daemon, "main", "b.md", NOTE.replace("Corvo", "Flores"))
    result = cli(daemon, "embed", "main", "--json")
    assert result.returncode == 0, result.stderr
    json.loads(result.stdout)
    assert daemon.call("POST", "/v1/agents/main/sync", {"estimate": True})["estimate"]["chunks"] == 0
    status = daemon.call("GET", "/v1/agents/main/status")["engines"]["builtin"]
    assert status["vectors"] == status["chunks"]
    assert status["documents"] == 2
