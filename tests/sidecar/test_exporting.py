"""Whose conversations are exported."""

from __future__ import annotations

from pathlib import Path

from sidecar.config import Settings, load
from sidecar.sessions.exporting import export_job, transcripts_dir

ON = "memory: {qmd: {sessions: {enabled: true}}}"


def settings(folder: Path, text: str) -> Settings:
    """The settings of a configuration."""
    file = folder / "config.json5"
    file.write_text(text, encoding="utf-8")
    return load(file, environ={"HOME": str(folder)}, state_dir=folder / "state")


def test_nothing_is_exported_unless_conversations_are_wanted(tmp_path: Path) -> None:
    """Off by default."""
    loaded = settings(tmp_path, "{}")
    assert export_job(loaded, loaded.agents["main"]) is None


def test_the_default_transcripts_are_openclaws(tmp_path: Path) -> None:
    """`~/.openclaw/agents/<id>/sessions`."""
    loaded = settings(tmp_path, f"{{{ON}}}")
    job = export_job(loaded, loaded.agents["main"])
    assert job is not None
    assert job.transcripts == str(tmp_path / ".openclaw/agents/main/sessions")
    assert Path(job.export_folder).is_relative_to(tmp_path / "state/agents/main")


def test_agents_never_share_a_folder_of_transcripts(tmp_path: Path) -> None:
    """One configured folder gets a folder per agent, unless it names the agent itself."""
    agents = f"agents: {{list: [{{id: 'a', workspace: '{tmp_path}/a'}}, {{id: 'b', workspace: '{tmp_path}/b'}}]}}"
    shared = settings(tmp_path, f"{{{ON}, {agents}, sidecar: {{transcripts: '/t'}}}}")
    assert {transcripts_dir(shared, agent) for agent in shared.agents.values()} == {Path("/t/a"), Path("/t/b")}
    named = settings(tmp_path, f"{{{ON}, {agents}, sidecar: {{transcripts: '/t/{{agentId}}/x'}}}}")
    assert {transcripts_dir(named, agent) for agent in named.agents.values()} == {Path("/t/a/x"), Path("/t/b/x")}
