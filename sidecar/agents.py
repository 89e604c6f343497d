"""One agent: its corpus, its engines, when it was last synced, and what an operator sees of it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from backends.base import (
    Backend,
    BackendError,
    BackendStatus,
    Failure,
    Notice,
    Pending,
    SyncReport,
    SyncRequest,
)
from backends.builtin import Embedded
from backends.corpus import Corpus, Kind
from scope import Policy
from sidecar.config import AgentSettings
from sidecar.denials import Denials
from sidecar.sessions.conversations import Conversations
from sidecar.sessions.exporting import Exports
from sidecar.shapes import error_json, fallback_json, notice_json, pending_json, report_json
from sidecar.watching import Unindexed

log = logging.getLogger(__name__)


#: Syncs for these reasons export nothing: how much is to be said before that is configured, and a changed note or a
#: search says nothing about conversations.
_EXPORTS_NOTHING = frozenset({"change", "search", "failed search", "conversations"})


class AgentState(StrEnum):
    """What one word says about an agent."""

    READY = "ready"
    INDEXING = "indexing"
    DEGRADED = "degraded"
    UNAVAILABLE = "unavailable"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class LastSync:
    """The newest sync of one engine: what it did, or why it failed; `at` is Unix seconds."""

    at: float
    report: SyncReport | None = None
    error: BackendError | None = None

    @property
    def failure(self) -> Failure | None:
        """The class of the failure; None when it went well."""
        return self.error.failure if self.error else None


class Agent:
    """Everything the daemon holds for one agent.

    `search` is what answers; `engines` are the parts of it that are synced, each with the least pause in seconds
    between two unforced syncs. `configured` is what the configuration says of an engine, for its status.
    `environment` lets a person's own qmd use the same index; None without qmd. `builtin` is asked about vectors; None
    where only qmd has an index.
    `next_update` says when the scheduler comes round (Unix seconds); `exports` makes conversations into files before
    they are looked for, and `conversations` knows whose these are; None when they are no part of this memory.
    `on_synced` is called after every sync that went well.
    """

    def __init__(
        self,
        settings: AgentSettings,
        *,
        corpus: Corpus,
        policy: Policy,
        search: Backend,
        engines: Mapping[str, tuple[Backend, float]],
        notices: tuple[Notice, ...] = (),
        configured: Mapping[str, Mapping[str, Any]] | None = None,
        environment: Mapping[str, str] | None = None,
        next_update: Callable[[], float | None] = lambda: None,
        builtin: Embedded | None = None,
        exports: Exports | None = None,
        conversations: Conversations | None = None,
        on_synced: Callable[[], None] = lambda: None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self.corpus = corpus
        self.policy = policy
        self.search = search
        self.environment = environment
        self.builtin = builtin
        self.denials = Denials()
        self.exports = exports
        self.conversations = conversations
        self._engines = engines
        self._notices = notices
        self._configured = configured or {}
        self._next_update = next_update
        self._on_synced = on_synced
        self._wall = wall
        self._made_at = wall()
        self._last: dict[str, LastSync] = {}
        self._good: dict[str, LastSync] = {}
        self._syncing: dict[str, asyncio.Task[SyncReport]] = {}
        self._queued: dict[tuple[str, bool, bool], asyncio.Task[SyncReport]] = {}
        self._unindexed = {name: Unindexed() for name in engines}
        self._booting: frozenset[str] = frozenset()
        self._watch_notice: Notice | None = None
        self._planned: dict[str, asyncio.TimerHandle] = {}
        self._background: set[asyncio.Task[Any]] = set()

    @property
    def id(self) -> str:
        """The agent's id, as configured."""
        return self.settings.id

    @property
    def enabled(self) -> bool:
        """Whether this agent's memory may be searched at all."""
        return not self.settings.off_by

    @property
    def embedded_by(self) -> str | None:
        """The provider that questions are to be embedded by first, as configured; None where only qmd embeds."""
        return next((spec.provider for spec in self.builtin.providers), None) if self.builtin else None

    @property
    def has_sessions(self) -> bool:
        """Whether conversations are part of this agent's memory."""
        return any(root.kind is Kind.SESSION for root in self.corpus.roots)

    async def sync(self, request: SyncRequest) -> dict[str, SyncReport | BackendError]:
        """Sync every engine; by name, what it did or why it could not."""
        names = list(self._engines)
        results = await asyncio.gather(*(self._sync_engine(name, request) for name in names), return_exceptions=True)
        outcome: dict[str, SyncReport | BackendError] = {}
        for name, result in zip(names, results, strict=True):
            if not isinstance(result, SyncReport | BackendError):
                raise result
            outcome[name] = result
        return outcome

    def changed(self, paths: frozenset[str]) -> None:
        """Files (shown paths) were written, made or removed: count them at once, sync when the writing settles."""
        for unindexed in self._unindexed.values():
            unindexed.add(paths, self._wall())
        self.refresh("change", settle_s=self.settings.search.sync.watch_debounce_ms / 1000)

    def conversations_grew(self) -> None:
        """Export conversations, and index what that changed, in the background."""
        self.spawn(self._follow_conversations())

    async def _follow_conversations(self) -> None:
        if self.exports is None:
            return
        try:
            report = await self.exports.run()
        except BackendError as error:
            log.warning("sessions not exported", extra={"fields": {"agent": self.id, "reason": error.failure}})
            return
        if report["written"] or report["removed"]:
            self.refresh("conversations")

    def watched(self, notice: Notice | None) -> None:
        """Why changes are seen late; None when they are seen at once."""
        self._watch_notice = notice

    def pending(self, engine: str) -> Pending | None:
        """The files that were changed since the last good sync of an engine began, as far as events told.

        Until the first sync after the start has ended, at least one: what was written before had no event.
        """
        unindexed = self._unindexed.get(engine)
        if unindexed is None:
            return None
        return unindexed.pending(self._wall()) or self._unknown(engine)

    def _unknown(self, engine: str) -> Pending | None:
        if engine not in self._booting or engine in self._last:
            return None
        return Pending(files=1, oldest_s=max(0.0, self._wall() - self._made_at))

    def pending_by_engine(self) -> dict[str, Pending | None]:
        """`pending` of every engine."""
        return {name: self.pending(name) for name in self._engines}

    def notices_about(self, engine: str) -> tuple[Notice, ...]:
        """What a caller of that engine must know to read an empty list rightly."""
        return (*self._missing_workspace(), *self._failed_sync(engine))

    def _missing_workspace(self) -> tuple[Notice, ...]:
        workspace = self.settings.workspace
        if workspace.is_dir():
            return ()
        message = f"the workspace {workspace} of agent {self.id} does not exist"
        return (Notice("workspace_missing", message, "create it, or correct agents.*.workspace"),)

    def _polling(self) -> tuple[Notice, ...]:
        return (self._watch_notice,) if self._watch_notice else ()

    def _failed_sync(self, engine: str) -> tuple[Notice, ...]:
        last = self._last.get(engine)
        if last is None or last.error is None:
            return ()
        # Only of the engine that answered: the other one's trouble is the fallback's reason.
        message = f"the last sync of {engine} failed: {last.error.message}"
        return (Notice("sync_failed", message, last.error.hint or "see `qmd-sidecar status`"),)

    def refresh(self, reason: str, *, settle_s: float = 0.0, pause_s: float = 0.0) -> None:
        """Sync in the background, each engine once, not before `settle_s` and not before its pause is over.

        `pause_s` is the least time since the last sync that went well; an engine's own may be longer. Never waited for.
        """
        loop = asyncio.get_running_loop()
        for name, (_, own_pause_s) in self._engines.items():
            last = self._last.get(name)
            least_s = own_pause_s if last is not None and last.error else max(own_pause_s, pause_s)
            due_at = loop.time() + max(settle_s, self._pause_left(name, least_s))
            planned = self._planned.get(name)
            if planned is None or due_at < planned.when():
                if planned is not None:
                    planned.cancel()
                self._planned[name] = loop.call_at(due_at, self._run_planned, name, reason)

    def _pause_left(self, name: str, pause_s: float) -> float:
        """Seconds until `name` may be synced again. A sync under way may have passed a change by: the whole pause."""
        if name in self._syncing:
            return pause_s
        last = self._last.get(name)
        return 0.0 if last is None else last.at + pause_s - self._wall()

    def _run_planned(self, name: str, reason: str) -> None:
        del self._planned[name]
        self.spawn(self.run_sync(name, reason))

    def spawn(self, work: Any) -> None:
        """Run a coroutine that belongs to this agent; `close` ends what is left of it."""
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def begin(self, *, qmd: bool) -> frozenset[str]:
        """The engines to sync at start; the built-in index always, QMD's when `onBoot` says so."""
        self._booting = frozenset(name for name in self._engines if qmd or name != "qmd")
        return self._booting

    async def run_sync(self, name: str, reason: str) -> None:
        """One sync of one engine, or the one under way; a failure is logged and shown, the next one comes anyway."""
        try:
            await asyncio.shield(self._syncing.get(name) or self._start(name, SyncRequest(reason=reason)))
        except BackendError:
            # `_record` has said it once, where the result is decided.
            return

    async def _sync_engine(self, name: str, request: SyncRequest) -> SyncReport:
        """A sync that began after this call: what was written before it is indexed when it ends.

        It waits behind the one under way, and everybody who wants the same meanwhile waits for the same.
        """
        if name not in self._syncing:
            return await asyncio.shield(self._start(name, request))
        key = (name, request.force, request.purge)
        if key not in self._queued:
            self._queued[key] = asyncio.create_task(self._after_running(key, request))
        return await asyncio.shield(self._queued[key])

    async def _after_running(self, key: tuple[str, bool, bool], request: SyncRequest) -> SyncReport:
        while (running := self._syncing.get(key[0])) is not None:
            await asyncio.wait({running})
        del self._queued[key]
        return await asyncio.shield(self._start(key[0], request))

    def _start(self, name: str, request: SyncRequest) -> asyncio.Task[SyncReport]:
        self._syncing[name] = asyncio.create_task(self._record(name, request))
        return self._syncing[name]

    async def _record(self, name: str, request: SyncRequest) -> SyncReport:
        try:
            return await self._synced(name, request)
        finally:
            del self._syncing[name]

    async def _synced(self, name: str, request: SyncRequest) -> SyncReport:
        engine, _ = self._engines[name]
        before, unindexed = self._last.get(name), self._unindexed[name]
        unindexed.take()
        try:
            if self.exports is not None and request.reason not in _EXPORTS_NOTHING:
                await self.exports.run()
            report = await engine.sync(request)
            unindexed.drop()
        except BackendError as error:
            self._last[name] = LastSync(self._wall(), error=error)
            # State changes are news, repetitions are not.
            if before is None or before.failure is not error.failure:
                spared = _is_spared(self.search.status(), name, error.failure)
                fields = {"agent": self.id, "engine": name, "reason": error.failure}
                log.log(logging.INFO if spared else logging.WARNING, "sync failed", extra={"fields": fields})
            raise
        finally:
            unindexed.keep()
        self._last[name] = self._good[name] = LastSync(self._wall(), report=report)
        self._on_synced()
        if unindexed:
            # Changed while this sync was under way, which may have passed them by.
            self.refresh("change")
        if report.ran or (before is not None and before.error):
            counts: dict[str, Any] = {"changed": report.changed, "removed": report.removed}
            counts |= {"seconds": round(report.took_s, 3), **({"detail": report.detail} if report.detail else {})}
            who = {"agent": self.id, "engine": name, "reason": request.reason}
            log.info("synced", extra={"fields": {**who, **counts}})
        return report

    def status(self) -> dict[str, Any]:
        """The agent as operators see it; see docs for the shape. Cheap: asks nobody."""
        status = self.search.status()
        pending = status.pending or self.pending(status.backend)
        return {
            "id": self.id,
            "workspace": str(self.settings.workspace),
            "state": self._state(status),
            "backend": status.backend,
            **({"fallback": fallback_json(status.fallback)} if status.fallback else {}),
            **({"breaker": breaker} if (breaker := status.detail.get("breaker")) else {}),
            "documents": status.documents,
            **({"pending": pending_json(pending)} if pending else {}),
            **self._last_sync(),
            **({"nextUpdateAt": at} if (at := self._next_update()) else {}),
            "engines": {name: self._engine_status(name) for name in self._engines},
            "roots": [
                {
                    "name": root.name,
                    "kind": root.kind,
                    "path": str(root.path),
                    "pattern": root.patterns[0],
                    "shown": root.shown,
                }
                for root in self.corpus.roots
            ],
            "notices": [
                notice_json(notice)
                for notice in (
                    *self._notices,
                    *self._missing_workspace(),
                    *self._polling(),
                    *(self.exports.notices if self.exports else ()),
                    *status.notices,
                )
            ],
        }

    def _state(self, status: BackendStatus) -> AgentState:
        if not self.enabled:
            return AgentState.DISABLED
        if status.fallback and not _is_spared(status, status.fallback.origin, status.fallback.reason):
            return AgentState.DEGRADED
        if self._syncing:
            return AgentState.INDEXING
        if not status.ready:
            return AgentState.UNAVAILABLE
        return AgentState.DEGRADED if self._is_ailing(status) else AgentState.READY

    def _is_ailing(self, status: BackendStatus) -> bool:
        """Whether an engine could not be synced that should have been."""
        return any(last.failure and not _is_spared(status, name, last.failure) for name, last in self._last.items())

    def _engine_status(self, name: str) -> dict[str, Any]:
        engine, _ = self._engines[name]
        status, last = engine.status(), self._last.get(name)
        failed = {"lastError": error_json(last.error, last.at)} if last and last.error else {}
        syncing = {"syncing": True} if name in self._syncing else {}
        configured = self._configured.get(name, {})
        return {
            "ready": status.ready,
            "documents": status.documents,
            **status.detail,
            **configured,
            **syncing,
            **failed,
        }

    def _last_sync(self) -> dict[str, Any]:
        """The newest sync that went well, of any engine; what failed since then stands with its engine."""
        last = max(self._good.values(), key=lambda good: good.at, default=None)
        if last is None or last.report is None:
            return {}
        return {"lastSync": {"at": last.at, **report_json(last.report)}}

    @property
    def ready(self) -> bool:
        """Whether at least one engine can answer now."""
        return not self.enabled or any(engine.status().ready for engine, _ in self._engines.values())

    async def close(self) -> None:
        """End background work and close every engine."""
        for planned in self._planned.values():
            planned.cancel()
        tasks = [*self._background, *self._queued.values(), *self._syncing.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.search.close()


def _is_spared(status: BackendStatus, engine: str, reason: str) -> bool:
    """Whether a failure is none: an engine that was only wanted if present may be missing."""
    breaker = status.detail.get("breaker") or {}
    return bool(breaker.get("optional")) and breaker.get("of") == engine and reason == Failure.MISSING
