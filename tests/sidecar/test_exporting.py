"""Whose conversations are exported."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Any

from exporter import ExportJob, ExportReport
from sidecar.config import Settings, load
from sidecar.sessions.exporting import Exports, export_job, transcripts_dir

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


def test_secrets_and_successes_are_counted_over_runs_that_are_no_trial(tmp_path: Path) -> None:
    """By kind; a run with a failure is no success."""
    loaded = settings(tmp_path, f"{{{ON}}}")
    agent = loaded.agents["main"]
    job = export_job(loaded, agent)
    assert job is not None
    report = ExportReport(redacted={"token": 2})

    async def worker(_: ExportJob) -> dict[str, Any]:
        return asdict(report)

    exports = Exports(agent, job, worker, wall=lambda: 7.0)
    asyncio.run(exports.run(dry_run=True))
    assert (exports.redacted, exports.good_at) == ({}, None)
    report.failed = 1
    asyncio.run(exports.run())
    assert (exports.redacted, exports.good_at) == ({"token": 2}, None)
    report.failed = 0
    asyncio.run(exports.run())
    assert (exports.redacted, exports.good_at) == ({"token": 4}, 7.0)
