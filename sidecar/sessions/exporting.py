"""Conversations into memory: which transcripts an agent has, where they are exported to, and who may see them."""

from __future__ import annotations

from pathlib import Path

from exporter import ExportJob
from scope import Decision
from sidecar.config import AgentSettings, Settings, sessions_dir, sessions_enabled
from sidecar.config.variables import expand

AGENT_ID = "{agentId}"


def export_job(settings: Settings, agent: AgentSettings) -> ExportJob | None:
    """What to export for an agent; None when conversations are not part of its memory."""
    if not sessions_enabled(settings, agent):
        return None
    return ExportJob(
        transcripts=str(transcripts_dir(settings, agent)),
        export_folder=str(sessions_dir(settings, agent)),
        ledger=str(agent.state_dir / "exports.sqlite"),
        retention_days=settings.memory.qmd.sessions.retention_days,
        redact_patterns=settings.sidecar.redact.patterns,
        redact_allow=settings.sidecar.redact.allow,
        zone=str(agent.timezone),
    )


def transcripts_dir(settings: Settings, agent: AgentSettings) -> Path:
    """The folder of an agent's own transcripts. One agent's conversations are never another one's."""
    configured = settings.sidecar.transcripts or settings.session.store
    if configured is None:
        openclaw = settings.variables.get("OPENCLAW_STATE_DIR") or str(settings.home / ".openclaw")
        return Path(openclaw).expanduser() / "agents" / agent.id / "sessions"
    path = expand(configured.replace(AGENT_ID, agent.id), settings.variables, base=settings.home)
    folder = path.parent if path.suffix == ".json" else path
    shared = AGENT_ID not in configured and len(settings.agents) > 1
    return folder / agent.folder if shared else folder


def sessions_visible(settings: Settings, decision: Decision) -> bool:
    """Whether this caller may see conversations other than its own.

    Which session a passage comes from is not known to a search, so `self` and `tree` show none.
    """
    return settings.visibility in {"agent", "all"} or decision.kind == "cli"
