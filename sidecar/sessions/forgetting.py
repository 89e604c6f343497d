"""Forgetting on demand, with proof: a session, or what a pattern matches, out of every file of an agent's state.

The order is what makes it hold: first it is decided what is never exported again, then exports, indexes and qmd follow,
and at the end everything is read byte by byte. A purge that was killed is finished by the same purge.
The pattern is very often the secret itself: it is in no file, no log and no command line of a child.
"""

from __future__ import annotations

import asyncio
import glob
import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from backends.base import BackendError, Failure, SyncRequest
from backends.builtin import SecondProvider
from backends.builtin.forgetting import discard_index
from backends.builtin.successor import successor_of
from backends.corpus import Kind
from backends.qmd.forgetting import discard_index as discard_qmd_index
from exporter import ExportJob
from sidecar.agents import Agent
from sidecar.config import Settings, sessions_dir
from sidecar.engines import qmd_home, second_index
from sidecar.sessions.burying import BuryJob
from sidecar.sessions.exporting import export_job, transcripts_dir
from sidecar.sessions.scanning import ScanJob

log = logging.getLogger(__name__)

#: Names of files as gateways make them, from random ids; a shorter one may be a part of another.
TELLING_NAME_CHARS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """What is to be forgotten: the session of a key or an id, or every turn that a pattern (RE2) matches."""

    session: str = ""
    pattern: str = field(default="", repr=False)
    dry_run: bool = False


class Undertaker(Protocol):
    """The way to the process that reads and buries."""

    async def bury(self, job: BuryJob) -> dict[str, Any]:
        """The fields of `Buried` and of `Holdings`. Raises `BackendError`."""
        ...

    async def scan(self, job: ScanJob) -> dict[str, Any]:
        """The fields of `Scanned`. Raises `BackendError`."""
        ...


class Forgetting:
    """Purges the agents of one daemon, one purge of each at a time. `settings` are those in force when it is asked."""

    def __init__(self, settings: Callable[[], Settings], worker: Undertaker) -> None:
        self._settings = settings
        self._worker = worker
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def purge(self, agent: Agent, purge: Purge) -> dict[str, Any] | None:
        """The report of a purge; None for a session that nobody knows. Raises `BackendError`.

        The agent must have conversations. Nothing is removed by a trial, and nothing is read for the proof.
        """
        job = export_job(self._settings(), agent.settings)
        assert job is not None
        async with self._turns[agent.id]:
            buried = await self._worker.bury(self._bury_job(agent, job, purge))
            if not buried["known"]:
                return None
            failures = [] if purge.dry_run else await self._follow(agent)
            scanned = {} if purge.dry_run else await self._proof(agent, buried, purge)
        report = self._report(agent, buried, scanned, failures)
        if not purge.dry_run:
            told = ("sessions", "turns", "chunks", "done")
            log.info("purged", extra={"fields": {"agent": agent.id, **{key: report[key] for key in told}}})
            # What was cut anew has no vectors yet.
            agent.syncs.refresh("purge")
        return report

    def _bury_job(self, agent: Agent, job: ExportJob, purge: Purge) -> BuryJob:
        return BuryJob(
            export=replace(job, dry_run=purge.dry_run),
            indexes=[str(path) for path in _indexes(agent)],
            session=purge.session,
            pattern=purge.pattern,
        )

    async def _follow(self, agent: Agent) -> list[BackendError]:
        """Have exports and indexes follow, and remove indexes that no engine uses any more; what went wrong."""
        reports = await agent.syncs.sync(SyncRequest(reason="purge", embed=False, purge=True))
        await asyncio.to_thread(self._discard_unused, agent)
        failures = (report for report in reports.values() if isinstance(report, BackendError))
        # An engine that is not there keeps no index: what it had was removed.
        return [failure for failure in failures if failure.failure is not Failure.MISSING]

    def _discard_unused(self, agent: Agent) -> None:
        first, second = agent.settings.index_path, second_index(agent.settings.index_path)
        unused = [first] if agent.builtin is None else []
        if not isinstance(agent.builtin, SecondProvider):
            unused.append(second)
        for index in unused:
            discard_index(index)
            discard_index(successor_of(index))
        if agent.environment is None:
            discard_qmd_index(qmd_home(self._settings(), agent.settings, self._settings().variables))

    async def _proof(self, agent: Agent, buried: Mapping[str, Any], purge: Purge) -> dict[str, Any]:
        return await self._worker.scan(await asyncio.to_thread(self._scan_job, agent, buried, purge))

    def _scan_job(self, agent: Agent, buried: Mapping[str, Any], purge: Purge) -> ScanJob:
        index = agent.settings.index_path
        exports = sessions_dir(self._settings(), agent.settings)
        state = agent.settings.state_dir
        # The log of the daemon is that of all agents.
        folders = [state, self._settings().state_dir / "log", *([] if exports.is_relative_to(state) else [exports])]
        gone = set(buried["exports"])
        return ScanJob(
            pattern=purge.pattern,
            telling=[*buried["telling"], *_telling_names(buried, purge)],
            folders=list(map(str, folders)),
            files=[
                str(path) for path in index.parent.glob(f"{glob.escape(index.name)}*") if not path.is_relative_to(state)
            ],
            notes=[str(path) for path in _notes(agent)],
            exports=[str(path) for path in exports.glob("*.md") if path.name not in gone],
        )

    def _report(
        self, agent: Agent, buried: Mapping[str, Any], scanned: Mapping[str, Any], failures: list[BackendError]
    ) -> dict[str, Any]:
        transcripts = transcripts_dir(self._settings(), agent.settings)
        unread = [*(str(transcripts / name) for name in buried["unread"]), *scanned.get("unread", ())]
        left = bool(scanned.get("remaining") or scanned.get("notes") or unread or failures)
        return {
            **{key: buried[key] for key in ("sessions", "turns", "chunks", "vectors", "cached")},
            "lookedFor": scanned.get("wanted", 0),
            "filesScanned": scanned.get("files", 0),
            "bytes": scanned.get("bytes", 0),
            "remaining": _rows(scanned.get("remaining", {}), "count"),
            "notes": _rows(scanned.get("notes", {}), "lines"),
            "transcripts": _rows({str(transcripts / name): n for name, n in buried["transcripts"].items()}, "turns"),
            "unread": unread,
            "failures": [{"code": error.code, "message": error.message, "action": error.hint} for error in failures],
            "done": bool(scanned) and not left,
        }


def _indexes(agent: Agent) -> Iterator[Path]:
    for index in (agent.settings.index_path, second_index(agent.settings.index_path)):
        yield index
        yield successor_of(index)


def _with_its_logs(index: Path) -> Iterator[Path]:
    return index.parent.glob(f"{glob.escape(index.name)}*")


def _notes(agent: Agent) -> Iterator[Path]:
    for root, found in agent.corpus.files():
        if root.kind is not Kind.SESSION:
            yield root.path / found.relative


def _telling_names(buried: Mapping[str, Any], purge: Purge) -> list[str]:
    """The names of a session's exports, which stand wherever its text does, as far as no other name ends like them."""
    return [name for name in buried["exports"] if purge.session and len(name) >= TELLING_NAME_CHARS]


def _rows(counts: Mapping[str, int], name: str) -> list[dict[str, Any]]:
    return [{"file": file, name: count} for file, count in sorted(counts.items())]
