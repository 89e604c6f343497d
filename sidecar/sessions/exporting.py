"""Conversations into memory: which transcripts an agent has, and where they are exported to."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import date, datetime, time
from pathlib import Path
from time import time as unix_time
from typing import Any

from backends.base import Notice
from exporter import ExportJob
from sidecar.config import AgentSettings, Settings, sessions_dir, sessions_enabled
from sidecar.config.variables import expand

log = logging.getLogger(__name__)

AGENT_ID = "{agentId}"
_LOGGED = ("written", "removed", "turns", "bad_lines", "failed")
_NEXT_STEPS = {
    "transcripts_unreadable": "see whether the folder exists, or correct sidecar.transcripts",
    "session_store_unreadable": "see whether sessions.json beside the transcripts is whole",
    "export_folder_unusable": "see whether memory.qmd.sessions.exportDir is a folder that the daemon may write to",
    "disk_full": "free space; the next export goes on",
    "ledger_newer": "update qmd-sidecar: what was purged stands in this exports.sqlite, so keep it",
    "ledger_unusable": "restore exports.sqlite from a backup; without it exports are made anew, purged turns too",
    "transcripts_missing": "bring them back, or delete their sessions in the gateway",
    "transcripts_emptied": "see whether the disk is mounted; what was exported is kept until sessions.json is there",
    "foreign_file": "move the file that stands in the export's place",
    "io_error": "see whether the disk is full, and whether the daemon may read the transcripts",
}
_EMPTY = Notice(
    "exports_empty",
    "most transcripts hold nothing that anybody said",
    "see whether sidecar.transcripts names the gateway's transcripts, and whether this version knows their form",
)


class Exports:
    """One agent's conversations as files: made before every sync, and when somebody asks.

    `worker` runs a job. `notices` is what the last run that was no trial has to complain of, `redacted` counts what
    all of them made unreadable, by kind; a conversation that is exported anew counts anew. `good_at` is when the last
    one ended without a failure (Unix seconds).
    """

    def __init__(
        self,
        agent: AgentSettings,
        job: ExportJob,
        worker: Callable[[ExportJob], Awaitable[dict[str, Any]]],
        wall: Callable[[], float] = unix_time,
    ) -> None:
        self._agent = agent
        self._job = job
        self._worker = worker
        self._wall = wall
        self.notices: tuple[Notice, ...] = ()
        self.redacted: Counter[str] = Counter()
        self.good_at: float | None = None

    async def run(self, *, dry_run: bool = False, diff: bool = False, since: date | None = None) -> dict[str, Any]:
        """The fields of an `ExportReport`. `since` begins at midnight in the user's zone. Raises `BackendError`."""
        midnight = datetime.combine(since, time(), self._agent.timezone) if since else None
        since_s = int(midnight.timestamp()) if midnight else 0
        report = await self._worker(replace(self._job, dry_run=dry_run, diff=diff, since_s=since_s))
        if not dry_run:
            self._tell(report)
        return report

    def _tell(self, report: Mapping[str, Any]) -> None:
        self.redacted.update(report["redacted"])
        if not report["failed"]:
            self.good_at = self._wall()
        counts = {"agent": self._agent.id, **{key: report[key] for key in _LOGGED}}
        if report["written"] or report["removed"]:
            log.info("sessions exported", extra={"fields": counts})
        before, self.notices = self.notices, complaints(report)
        # State changes are news, repetitions are not.
        if self.notices and [notice.code for notice in self.notices] != [notice.code for notice in before]:
            codes = ",".join(notice.code for notice in self.notices)
            log.warning("sessions not exported", extra={"fields": {**counts, "codes": codes}})


def complaints(report: Mapping[str, Any]) -> tuple[Notice, ...]:
    """What an operator must see to: one notice for each kind of failure, and the alarm."""
    kinds = {failure["code"]: failure for failure in reversed(report["failures"])}
    found = [_complaint(code, failure, report["failed"]) for code, failure in kinds.items()]
    return (*found, _EMPTY) if report["mostly_empty"] else tuple(found)


def _complaint(code: str, failure: Mapping[str, Any], failed: int) -> Notice:
    what = f"{failed} transcripts, {failure['name']} among them," if failure["name"] else "transcripts"
    return Notice(code, f"{what} could not be exported: {failure['reason']}", _NEXT_STEPS.get(code, ""))


def export_job(settings: Settings, agent: AgentSettings) -> ExportJob | None:
    """What to export for an agent; None when conversations are not part of its memory."""
    return possible_job(settings, agent) if sessions_enabled(settings, agent) else None


def possible_job(settings: Settings, agent: AgentSettings) -> ExportJob:
    """What would be exported for an agent if conversations were part of its memory."""
    return ExportJob(
        transcripts=str(transcripts_dir(settings, agent)),
        export_folder=str(sessions_dir(settings, agent)),
        ledger=str(agent.state_dir / "exports.sqlite"),
        retention_days=settings.memory.qmd.sessions.retention_days,
        redact_patterns=settings.sidecar.redact.patterns,
        redact_allow=settings.sidecar.redact.allow,
        zone=str(agent.timezone),
        may_be_missing=_configured(settings) is None,
    )


def _configured(settings: Settings) -> str | None:
    return settings.sidecar.transcripts or settings.session.store


def transcripts_dir(settings: Settings, agent: AgentSettings) -> Path:
    """The folder of an agent's own transcripts. One agent's conversations are never another one's."""
    configured = _configured(settings)
    if configured is None:
        openclaw = settings.variables.get("OPENCLAW_STATE_DIR") or str(settings.home / ".openclaw")
        return Path(openclaw).expanduser() / "agents" / agent.id / "sessions"
    path = expand(configured.replace(AGENT_ID, agent.id), settings.variables, base=settings.home)
    folder = path.parent if path.suffix == ".json" else path
    shared = AGENT_ID not in configured and len(settings.agents) > 1
    return folder / agent.folder if shared else folder
