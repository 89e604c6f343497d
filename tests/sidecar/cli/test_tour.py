"""`run --tour`: the sample, the question, the answer."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pytest

from sidecar.cli import tour
from sidecar.config import Settings, load
from tests.sidecar.cli.fake_daemon import FakeDaemon

TODAY = dt.date(2026, 11, 29)


@pytest.fixture
def settings(environ: dict[str, str]) -> Settings:
    """Defaults only: no configuration file, no workspace."""
    return load(environ=environ)


def test_the_sample_is_made_in_the_state_folder(settings: Settings) -> None:
    """Without notes and configuration, the first agent is pointed at a sample, and its own workspace is not made."""
    sampled = tour.with_sample(settings)
    workspace = sampled.agents["main"].workspace
    assert workspace == settings.state_dir / "sample-workspace"
    assert (workspace / "MEMORY.md").is_file()
    assert len(list((workspace / "memory").glob("????-??-??.md"))) == 3
    assert not settings.agents["main"].workspace.exists()


def test_the_sample_is_closed_to_others(settings: Settings) -> None:
    """The doctor finds nothing to say of what the tour leaves in the state folder."""
    workspace = tour.make_sample(settings.state_dir, today=TODAY)
    assert {path.stat().st_mode & 0o077 for path in (workspace, *workspace.rglob("*"))} == {0}


def test_a_workspace_that_exists_is_used_and_left_alone(settings: Settings) -> None:
    """The sample is for people without notes."""
    settings.agents["main"].workspace.mkdir(parents=True)
    assert tour.with_sample(settings) is settings
    assert list(settings.agents["main"].workspace.iterdir()) == []
    assert not settings.state_dir.exists()


def test_a_configuration_file_is_obeyed(environ: dict[str, str], folder: Path) -> None:
    """Who wrote a configuration means its workspace, even if it does not exist yet."""
    (folder / "c.json5").write_text("{}")
    settings = load(folder / "c.json5", environ=environ)
    assert tour.with_sample(settings) is settings


def test_a_sample_that_is_there_is_not_written_again(folder: Path) -> None:
    """The second tour finds the first one's notes, with whatever a person added."""
    tour.make_sample(folder, today=TODAY)
    mine = folder / "sample-workspace" / "MEMORY.md"
    mine.write_text("mine")
    tour.make_sample(folder, today=TODAY + dt.timedelta(days=1))
    assert mine.read_text() == "mine"
    assert len(list((folder / "sample-workspace" / "memory").iterdir())) == 3


def test_a_user_is_asked_about_the_newest_note(folder: Path) -> None:
    """The question is the first line that says something, without its Markdown."""
    (folder / "memory").mkdir()
    for name, text, age_s in (("old.md", "# Old", 60), ("new.md", "\n---\n## **Boat** to the island\nx", 1)):
        path = folder / "memory" / name
        path.write_text(text)
        os.utime(path, (1_000_000 - age_s, 1_000_000 - age_s))
    assert tour.question_about(folder) == "Boat** to the island"


def test_an_empty_workspace_has_no_question(folder: Path) -> None:
    """Nothing is asked where nothing can be known."""
    assert tour.question_about(folder) is None


@pytest.fixture
def settings_of(settings: Settings, daemon: FakeDaemon) -> Settings:
    """Settings whose socket is the fake daemon's, with sample notes."""
    assert settings.socket == daemon.path
    return tour.with_sample(settings)


def test_the_tour_prints_answer_engine_socket_and_next_step(
    settings_of: Settings, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a newcomer needs on one screen."""
    hit = {"path": "memory/2026-11-27.md", "startLine": 3, "endLine": 5, "score": 0.83, "snippet": "We moved it."}
    reply = {
        "results": [hit],
        "outcome": "hits",
        "backend": "builtin",
        "tookMs": 7,
    }
    daemon.routes["GET", "/v1/agents/main/status"] = (200, {"engines": {"qmd": {"lastError": {"code": "missing"}}}})
    daemon.routes["POST", "/v1/agents/main/sync"] = (200, {"queued": False, "reports": []})
    daemon.routes["POST", "/v1/agents/main/memory_search"] = (200, reply)
    tour.ask(settings_of)
    out = capsys.readouterr().out
    assert f"Question  {tour.SAMPLE_QUESTION}" in out
    assert "by builtin in 7 ms (qmd was not found on PATH)" in out
    assert "memory/2026-11-27.md:3-5  0.83" in out
    assert "We moved it." in out
    assert "your own belong into ~/.openclaw/workspace/memory" in out
    assert f"search --socket {daemon.path}" in out
    assert f"curl -s --unix-socket {daemon.path}" in out


def test_what_to_try_names_the_agent_where_there_are_several(
    environ: dict[str, str], folder: Path, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    """A verb that does not know whom to ask asks nobody."""
    (folder / "c.json5").write_text('{agents: {list: [{id: "my main"}, {id: "ops", workspace: "~/ops"}]}}')
    tour.ask(load(folder / "c.json5", environ=environ))
    assert f"search -a 'my main' --socket {daemon.path}" in capsys.readouterr().out


def test_a_tour_that_cannot_ask_says_so(
    settings_of: Settings, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    """A failed question ends the tour, not the daemon."""
    tour.ask(settings_of)
    assert "could not ask its question: no such route" in capsys.readouterr().out
