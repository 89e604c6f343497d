"""When an agent's engines are brought up to date: joined, never doubled, and no change is passed by."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from backends.base import Backend, BackendError, BackendStatus, Failure, Pending, SyncReport, SyncRequest
from sidecar.agents.state import is_spared
from sidecar.events import EventType, Publish, unheard
from sidecar.metrics.syncs import SyncTally
from sidecar.watching import Unindexed

log = logging.getLogger(__name__)

#: Syncs for these reasons export nothing: how much is to be said before that is configured, and a changed note or a
#: search says nothing about conversations.
_EXPORTS_NOTHING = frozenset({"change", "search", "failed search", "conversations"})


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


class Syncing:
    """The syncs of one agent's engines, each given with the least pause in seconds between two unforced ones.

    `export` makes conversations into files before they are looked for; `on_synced` is called after every sync that
    went well; `overall` is the status of the engine that answers, `wall` the time in Unix seconds. `publish` hears of
    every sync, `tally` counts them.
    """

    def __init__(
        self,
        agent_id: str,
        engines: Mapping[str, tuple[Backend, float]],
        *,
        overall: Callable[[], BackendStatus],
        export: Callable[[], Awaitable[object]] | None,
        on_synced: Callable[[], None],
        wall: Callable[[], float],
        publish: Publish = unheard,
    ) -> None:
        self.tally = SyncTally()
        self._publish = publish
        self._agent_id = agent_id
        self._engines = engines
        self._overall = overall
        self._export = export
        self._on_synced = on_synced
        self._wall = wall
        self._made_at = wall()
        self._last: dict[str, LastSync] = {}
        self._good: dict[str, LastSync] = {}
        self._running: dict[str, asyncio.Task[SyncReport]] = {}
        self._queued: dict[tuple[str, bool, bool], asyncio.Task[SyncReport]] = {}
        self._unindexed = {name: Unindexed() for name in engines}
        self._booting: frozenset[str] = frozenset()
        self._planned: dict[str, asyncio.TimerHandle] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._stopped = False

    @property
    def engines(self) -> Mapping[str, Backend]:
        """The engines by name."""
        return {name: engine for name, (engine, _) in self._engines.items()}

    @property
    def last(self) -> Mapping[str, LastSync]:
        """The newest sync of each engine, as far as there was one."""
        return self._last

    @property
    def last_good(self) -> LastSync | None:
        """The newest sync that went well, of any engine; what failed since then stands with its engine."""
        return max(self._good.values(), key=lambda good: good.at, default=None)

    @property
    def good_at(self) -> Mapping[str, float]:
        """When the newest sync of each engine that went well ended, in Unix seconds."""
        return {name: good.at for name, good in self._good.items()}

    @property
    def waiting(self) -> int:
        """How many syncs wait behind those that are running."""
        return len(self._queued)

    @property
    def running(self) -> frozenset[str]:
        """The engines that are being synced."""
        return frozenset(self._running)

    @property
    def beginning(self) -> bool:
        """Whether the first sync of an engine has not ended yet."""
        return any(engine not in self._last for engine in self._booting)

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

    def changed(self, paths: frozenset[str], *, settle_s: float) -> None:
        """Files (shown paths) were written, made or removed: count them at once, sync when the writing settles."""
        for unindexed in self._unindexed.values():
            unindexed.add(paths, self._wall())
        self.refresh("change", settle_s=settle_s)

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

    def refresh(self, reason: str, *, settle_s: float = 0.0, pause_s: float = 0.0) -> None:
        """Sync in the background, each engine once, not before `settle_s` and not before its pause is over.

        `pause_s` is the least time since the last sync that went well; an engine's own may be longer. Never waited for.
        """
        if self._stopped:
            return
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
        if name in self._running:
            return pause_s
        last = self._last.get(name)
        # A clock that was set back makes no pause longer.
        return 0.0 if last is None else min(pause_s, last.at + pause_s - self._wall())

    def _run_planned(self, name: str, reason: str) -> None:
        del self._planned[name]
        self.spawn(self.run(name, reason))

    def spawn(self, work: Any) -> None:
        """Run a coroutine that belongs to this agent; `close` ends what is left of it."""
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def begin(self, *, qmd: bool) -> frozenset[str]:
        """The engines to sync at start; the built-in index always, QMD's when `onBoot` says so."""
        self._booting = frozenset(name for name in self._engines if qmd or name != "qmd")
        return self._booting

    async def run(self, name: str, reason: str) -> None:
        """One sync of one engine, or the one under way; a failure is logged and shown, the next one comes anyway."""
        try:
            await _result(self._running.get(name) or self._start(name, SyncRequest(reason=reason)))
        except BackendError:
            # `_synced` has said it once, where the result is decided.
            return

    async def _sync_engine(self, name: str, request: SyncRequest) -> SyncReport:
        """A sync that began after this call: what was written before it is indexed when it ends.

        It waits behind the one under way, and everybody who wants the same meanwhile waits for the same.
        """
        if name not in self._running:
            return await _result(self._start(name, request))
        key = (name, request.force, request.purge)
        if key not in self._queued:
            self._queued[key] = asyncio.create_task(self._after_running(key, request))
        return await _result(self._queued[key])

    async def _after_running(self, key: tuple[str, bool, bool], request: SyncRequest) -> SyncReport:
        while (running := self._running.get(key[0])) is not None:
            await asyncio.wait({running})
        del self._queued[key]
        return await _result(self._start(key[0], request))

    def _start(self, name: str, request: SyncRequest) -> asyncio.Task[SyncReport]:
        if self._stopped:
            raise _reloaded()
        self._running[name] = asyncio.create_task(self._record(name, request))
        return self._running[name]

    async def _record(self, name: str, request: SyncRequest) -> SyncReport:
        facts: dict[str, Any] = {"engine": name, "reason": request.reason}
        self._publish(EventType.SYNC_BEGAN, self._agent_id, **facts)
        try:
            report = await self._synced(name, request)
        except BackendError as error:
            self.tally.failed(name, error)
            facts["error"] = error.failure
            raise
        else:
            self.tally.went_well(name, report)
            facts |= {"changed": report.changed, "removed": report.removed, "embedded": report.embedded}
            return report
        finally:
            del self._running[name]
            self._publish(EventType.SYNC_ENDED, self._agent_id, **facts)

    async def _synced(self, name: str, request: SyncRequest) -> SyncReport:
        engine, _ = self._engines[name]
        before, unindexed = self._last.get(name), self._unindexed[name]
        unindexed.take()
        try:
            if self._export is not None and request.reason not in _EXPORTS_NOTHING:
                await self._export()
            report = await engine.sync(request)
            unindexed.drop()
        except BackendError as error:
            self._last[name] = LastSync(self._wall(), error=error.to_keep())
            # State changes are news, repetitions are not.
            if before is None or before.failure is not error.failure:
                self._tell_failed(name, error)
            raise
        finally:
            unindexed.keep()
        self._last[name] = self._good[name] = LastSync(self._wall(), report=report)
        self._on_synced()
        if unindexed:
            # Changed while this sync was under way, which may have passed them by.
            self.refresh("change")
        if report.ran or (before is not None and before.error):
            self._tell_synced(name, request, report)
        return report

    def _tell_failed(self, name: str, error: BackendError) -> None:
        fields = {"agent": self._agent_id, "engine": name, "reason": error.failure}
        if is_spared(self._overall(), name, error.failure):
            log.info("qmd is not installed; the built-in engine answers", extra={"fields": {"agent": self._agent_id}})
        else:
            log.warning("sync failed", extra={"fields": fields})

    def _tell_synced(self, name: str, request: SyncRequest, report: SyncReport) -> None:
        counts: dict[str, Any] = {"changed": report.changed, "removed": report.removed}
        counts |= {"seconds": round(report.took_s, 3), **({"detail": report.detail} if report.detail else {})}
        who = {"agent": self._agent_id, "engine": name, "reason": request.reason}
        log.info("synced", extra={"fields": {**who, **counts}})

    async def stop(self, *, grace_s: float) -> None:
        """Begin no further sync; those under way have `grace_s` seconds to end, and are ended then."""
        self._stopped = True
        for planned in self._planned.values():
            planned.cancel()
        self._planned.clear()
        tasks = {*self._background, *self._queued.values(), *self._running.values()}
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=grace_s)
        # One that queued behind another may have been made meanwhile.
        late |= {*self._background, *self._queued.values(), *self._running.values()}
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def resume(self) -> None:
        """Take syncs again: the agent stays after all, and what was planned or ended meanwhile is made up for."""
        self._stopped = False
        self.refresh("reload")


async def _result(task: asyncio.Task[SyncReport]) -> SyncReport:
    """The result of a sync that others wait for too. Raises `BackendError`, also when the sync was ended by `stop`."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        waiting = asyncio.current_task()
        if task.cancelled() and not (waiting and waiting.cancelling()):
            raise _reloaded() from None
        raise


def _reloaded() -> BackendError:
    return BackendError(
        Failure.EXITED, "the agent's configuration was reloaded meanwhile", hint="ask again: it is synced anew"
    )
