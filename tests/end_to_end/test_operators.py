"""What an operator sees of a running daemon, and what a person's own qmd sees of an agent's index."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.client import RefusedError
from tests.fake_qmd import FakeQmd
from tests.running import Running, path_without_qmd, running, until

DEADLINE_S = 60


@pytest.fixture
def fake(tmp_path: Path) -> FakeQmd:
    """A fake qmd, honest until told otherwise."""
    return FakeQmd.install(tmp_path / "fake")


@pytest.fixture
def daemon(tmp_path: Path, fake: FakeQmd) -> Iterator[Running]:
    """A daemon with one agent, answered by the fake."""
    notes = tmp_path / "workspace" / "memory"
    notes.mkdir(parents=True)
    (notes / "a.md").write_text("The boat to Corvo leaves at nine.\n", encoding="utf-8")
    config = {
        "memory": {"backend": "qmd", "qmd": {"command": str(fake.path)}},
        "agents": {"defaults": {"workspace": str(notes.parent)}},
    }
    with running(tmp_path / "daemon", config, path=path_without_qmd(tmp_path)) as daemon:
        daemon.sync("main")
        until(lambda: daemon.search("main", "boat")["backend"] == "qmd", what="the fake's first answer")
        yield daemon


def screen(daemon: Running, *args: str) -> str:
    """What a verb prints about this daemon."""
    command = [sys.executable, "-m", "sidecar", *args, "--socket", str(daemon.client.path)]
    environ = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    done = subprocess.run(command, env=environ, capture_output=True, encoding="utf-8", timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_screen_shows_a_healthy_agent(daemon: Running) -> None:
    """Engine with version, documents, and where everything is."""
    out = screen(daemon, "status")
    assert "● ready" in out
    assert "qmd 2.8.3" in out
    assert f"socket  {daemon.client.path}" in out
    assert f"state   {daemon.state}" in out
    assert "▲" not in out
    facts = screen(daemon, "status", "main")
    assert "resident" in facts
    assert "breaker    closed" in facts


def test_an_open_breaker_shows_its_reason_its_probe_and_a_remedy(daemon: Running, fake: FakeQmd) -> None:
    """In the reply as Unix seconds, on the screen in words."""
    fake.behave(search="locked", query="locked", mcp="locked")
    until(lambda: daemon.search("main", "boat")["backend"] == "builtin", what="the breaker")

    def probe_is_planned() -> bool:
        breaker = daemon.call("GET", "/v1/agents/main/status")["breaker"]
        return breaker["state"] == "open" and breaker["nextProbeAt"] > time.time() + 1

    until(probe_is_planned, what="a probe in the future")
    breaker = daemon.call("GET", "/v1/status")["agents"][0]["breaker"]
    assert (breaker["of"], breaker["reason"], breaker["optional"]) == ("qmd", "locked", False)
    assert breaker["since"] <= time.time()
    out = screen(daemon, "status")
    assert "builtin ← locked" in out
    assert "main: builtin answers instead of qmd: qmd's index is locked by another process" in out
    assert "try: end the other process" in out


def test_the_exports_point_a_persons_qmd_at_the_same_index(daemon: Running, fake: FakeQmd) -> None:
    """`eval "$(qmd-sidecar agents env main)"`, then the person's qmd finds the agent's note."""
    script = f'{screen(daemon, "agents", "env", "main")}\nexec "{fake.path}" search -c memory-dir --json -- boat'
    environ = fake.environ()
    found = subprocess.run(
        ["/bin/sh", "-c", script], env=environ, capture_output=True, encoding="utf-8", timeout=DEADLINE_S
    )
    assert "memory-dir/a.md" in found.stdout, found.stderr


def test_an_agent_without_qmd_has_no_index_to_share(tmp_path: Path) -> None:
    """A typed refusal that says which setting would change it."""
    (tmp_path / "workspace").mkdir()
    config = {
        "memory": {"backend": "builtin"},
        "agents": {"defaults": {"workspace": str(tmp_path / "workspace")}},
    }
    with running(tmp_path / "daemon", config, path=path_without_qmd(tmp_path)) as daemon:
        with pytest.raises(RefusedError) as refused:
            daemon.client.environment("main")
        assert (refused.value.status, refused.value.code) == (404, "no_qmd")
        assert "memory.backend" in refused.value.hint
        until(lambda: "● ready" in screen(daemon, "status"), what="the first index")
