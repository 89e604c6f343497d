"""One agent: its corpus, its engines, its conversations, and who may read them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from backends.base import Backend, BackendError, Notice
from backends.builtin import Embedded
from backends.corpus import Corpus, Kind
from scope import Policy
from sidecar.agents.presence import Presence
from sidecar.agents.status import status_of
from sidecar.agents.syncing import Syncing
from sidecar.agents.threads import Threads
from sidecar.config import AgentSettings
from sidecar.events import Publish, unheard
from sidecar.sessions.conversations import Conversations
from sidecar.sessions.exporting import Exports

log = logging.getLogger(__name__)


class Agent:
    """Everything the daemon holds for one agent.

    `search` is what answers; `engines` are the parts of it that are synced, each with the least pause in seconds
    between two unforced syncs. `configured` is what the configuration says of an engine, for its status.
    `environment` lets a person's own qmd use the same index; None without qmd. `builtin` is asked about vectors; None
    where only qmd has an index.
    `next_update` says when the scheduler comes round (Unix seconds); `exports` makes conversations into files before
    they are looked for, and `conversations` knows whose these are; None when they are no part of this memory.
    `on_synced` is called after every sync that went well; `publish` hears of every sync.
    `threads` are those that its engines use.
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
        publish: Publish = unheard,
        threads: Threads | None = None,
    ) -> None:
        self.settings = settings
        self.corpus = corpus
        self.policy = policy
        self.search = search
        self.environment = environment
        self.builtin = builtin
        self.exports = exports
        self.conversations = conversations
        #: How often a session was denied, by its kind.
        self.denials: Counter[str] = Counter()
        self.notices = notices
        self.configured = configured or {}
        self.next_update = next_update
        self.watch_notice: Notice | None = None
        self.workspace = Presence(settings.workspace)
        self.threads = threads or Threads()
        self.syncs = Syncing(
            settings.id,
            engines,
            overall=lambda: search.status(),
            export=exports.run if exports else None,
            on_synced=on_synced,
            wall=wall,
            publish=publish,
        )
        self._callers = 0
        self._left = asyncio.Event()

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

    @property
    def ready(self) -> bool:
        """Whether at least one engine can answer now."""
        return not self.enabled or any(engine.status().ready for engine in self.syncs.engines.values())

    def status(self) -> dict[str, Any]:
        """The agent as operators see it; docs/api.md has the shape. Cheap: asks nobody, and no disk of notes."""
        return status_of(self)

    def changed(self, paths: frozenset[str]) -> None:
        """Files (shown paths) were written, made or removed."""
        self.syncs.changed(paths, settle_s=self.settings.search.sync.watch_debounce_ms / 1000)

    def conversations_grew(self) -> None:
        """Export conversations, and index what that changed, in the background."""
        self.syncs.spawn(self._follow_conversations())

    async def _follow_conversations(self) -> None:
        if self.exports is None:
            return
        try:
            report = await self.exports.run()
        except BackendError as error:
            log.warning("sessions not exported", extra={"fields": {"agent": self.id, "reason": error.failure}})
            return
        if report["written"] or report["removed"]:
            self.syncs.refresh("conversations")

    def notices_about(self, engine: str) -> tuple[Notice, ...]:
        """What a caller of that engine must know to read an empty list rightly."""
        return (*self.notices_of_workspace(), *self._failed_sync(engine))

    def notices_of_workspace(self) -> tuple[Notice, ...]:
        """That the workspace does not exist, or its disk does not answer, as was seen last."""
        whose = f"the workspace {self.settings.workspace} of agent {self.id}"
        if self.workspace.silent:
            return (Notice("workspace_silent", f"the disk of {whose} does not answer", "see whether it is mounted"),)
        if self.workspace.seen:
            return ()
        gone = f"{whose} does not exist, or is closed to the daemon"
        return (Notice("workspace_missing", gone, "create it, or correct agents.*.workspace"),)

    def _failed_sync(self, engine: str) -> tuple[Notice, ...]:
        last = self.syncs.last.get(engine)
        if last is None or last.error is None:
            return ()
        # Only of the engine that answered: the other one's trouble is the fallback's reason.
        message = f"the last sync of {engine} failed: {last.error.message}"
        return (Notice("sync_failed", message, last.error.hint or "see `qmd-sidecar status`"),)

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Hold this agent for one caller: `retire` waits for it."""
        self._callers += 1
        try:
            yield
        finally:
            self._callers -= 1
            if not self._callers:
                self._left.set()

    async def retire(self, *, patience_s: float) -> None:
        """Close once the last caller has left, or when `patience_s` seconds are over. Nobody may be sent here then."""
        self._left.clear()
        if self._callers:
            try:
                async with asyncio.timeout(patience_s):
                    await self._left.wait()
            except TimeoutError:
                log.warning("an agent was closed under its callers", extra={"fields": {"agent": self.id}})
        await self.close()

    async def close(self) -> None:
        """End background work and close every engine."""
        await self.syncs.stop(grace_s=0)
        await self.search.close()
        self.threads.close()
