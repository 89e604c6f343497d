"""Bring one agent's index up to date: write the collections, update, prove it, embed. One at a time.

Nothing is started when no file changed since the last good run, also not after a restart.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from backends.base import BackendError, Failure, Mode, SyncReport, SyncRequest
from backends.corpus import Corpus
from backends.qmd import collections, command, maintenance
from backends.qmd.asking import Asking
from backends.qmd.collections import Desired, Plan
from backends.qmd.home import WRITE_BUSY_TIMEOUT_MS, QmdHome, QmdOptions
from backends.qmd.install import Install
from backends.qmd.ledger import Ledger
from backends.qmd.maintenance import Counts
from backends.qmd.models import is_present, missing
from backends.qmd.program import Program
from backends.qmd.resident import GoneError

#: Gives out machine-wide turns for heavy work: `update`, `embed`. Raises `TimeoutError` when none comes.
Turn = Callable[[str], AbstractAsyncContextManager[None]]

T = TypeVar("T")

_READ_BACK_WAIT_S = 5.0
_LONGEST_EMBED_FACTOR = 8
# An embed without its model hangs until its deadline, with the machine's one turn in its hand.
_FIRST_EMBED_PAUSE_S = 300.0
_LONGEST_EMBED_PAUSE_S = 6 * 3600.0


@dataclass(frozen=True, slots=True)
class Scan:
    """The corpus as the disk has it: the collections it asks for, and the fingerprint of its files."""

    wanted: Desired
    signature: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """How the last run of a writer ended: Unix seconds, and `ok` or the failure's class."""

    at: float
    result: str


class Syncing:
    """The writers of one index. `ledger`, `held` and the attempts are what is known now."""

    def __init__(
        self,
        *,
        corpus: Corpus,
        home: QmdHome,
        options: QmdOptions,
        program: Program,
        asking: Asking,
        turn: Turn,
        pool: Executor,
    ) -> None:
        self._corpus = corpus
        self._home = home
        self._options = options
        self._program = program
        self._asking = asking
        self._turn = turn
        self._pool = pool
        self._writer = asyncio.Lock()
        self._embed_factor = 1
        self._embed_pause_s = _FIRST_EMBED_PAUSE_S
        self._embed_not_before = 0.0
        self.ledger = Ledger.load(home.ledger)
        self.held: tuple[str, ...] = ()
        self.last_update: Attempt | None = None
        self.last_embed: Attempt | None = None

    async def sync(self, request: SyncRequest) -> SyncReport:
        """Do what is due. Raises `BackendError`; what was done before it stays done."""
        started_at = time.monotonic()
        async with self._writer:
            install = await self._program.current()
            scan = await self._off_loop(self._scan)
            self.held = scan.wanted.held
            counts = await self._update(install, scan) if self._is_update_due(request, scan) else None
            embedded = await self._embed(install, scan) if self._is_embed_due(request, scan) else 0
        return _report(counts, embedded, took_s=time.monotonic() - started_at)

    async def _update(self, install: Install, scan: Scan) -> Counts:
        async with _waited_for(self._turn("update"), "update"):
            try:
                counts = await self._update_and_prove(install, scan)
            except BackendError as error:
                self.last_update = Attempt(at=time.time(), result=error.failure)
                raise
        self.last_update = Attempt(at=time.time(), result="ok")
        self._remember(updated=scan.signature, documents=counts.documents, updated_at=time.time())
        return counts

    async def _update_and_prove(self, install: Install, scan: Scan) -> Counts:
        """Update until a running qmd reports our collections: once, and once more if something had to be repaired."""
        for last in (False, True):
            step = await self._off_loop(lambda: self._write_collections(scan.wanted))
            try:
                counts = await self._run_update(install)
            except BackendError as error:
                if last or error.failure is not Failure.INDEX_LOST:
                    raise
                await self._asking.retire()
                await self._off_loop(lambda: maintenance.set_aside(self._home.index))
                continue
            wrong = await self._read_back(install, scan.wanted, step)
            if not wrong:
                return counts
        message = f"qmd does not see the collection(s) {', '.join(wrong)} as they were written."
        raise BackendError(Failure.INDEX_LOST, message, hint=f"Look at {self._home.index_yml}.")

    async def _run_update(self, install: Install) -> Counts:
        surroundings = self._program.surroundings(busy_timeout_ms=WRITE_BUSY_TIMEOUT_MS)
        return await maintenance.update(command.update(install), surroundings, timeout_s=self._options.update_timeout_s)

    def _write_collections(self, wanted: Desired) -> Plan:
        self._home.prepare()
        document = collections.load(self._home.index_yml)
        step = collections.plan(document, wanted, self.ledger.owned)
        after = collections.applied(document, wanted, step, self._program.environ)
        # The ledger first: a collection must never stand there without being known as ours.
        self._remember(owned=self.ledger.owned | collections.bindings(wanted.collections))
        if after != document:
            collections.store(self._home.index_yml, after)
        parked = {*self.ledger.parked, *self.ledger.owned} & {*wanted.held}
        self._remember(owned=collections.bindings(wanted.collections), parked=sorted(parked))
        return step

    async def _read_back(self, install: Install, wanted: Desired, step: Plan) -> tuple[str, ...]:
        """Collections that a resident reports otherwise. Nothing is asked when nothing was written."""
        if not self._options.resident or not (step.create or step.rebind):
            return ()
        resident = await self._asking.lease(install, wait_s=_READ_BACK_WAIT_S)
        if resident is None:
            return ()
        timeout_s = self._options.command_timeout_s
        try:
            status = await resident.call("status", {}, timeout_s=timeout_s, hang_s=timeout_s)
        except (BackendError, GoneError):
            return ()
        return collections.mismatches(status, wanted)

    async def _embed(self, install: Install, scan: Scan) -> int | None:
        async with _waited_for(self._turn("embed"), "embed"):
            try:
                embedded = await maintenance.embed(
                    command.embed(install),
                    self._program.surroundings(busy_timeout_ms=WRITE_BUSY_TIMEOUT_MS),
                    timeout_s=self._options.embed_timeout_s * self._embed_factor,
                )
            except BackendError as error:
                raise await self._embed_failed(error) from error
        self.last_embed = Attempt(at=time.time(), result="skipped" if embedded is None else "ok")
        if embedded is not None:
            self._embed_factor, self._embed_pause_s = 1, _FIRST_EMBED_PAUSE_S
            self._remember(embedded=scan.signature, embedded_at=time.time())
        return embedded

    async def _embed_failed(self, error: BackendError) -> BackendError:
        """A long first embed gets more time at every attempt, later and later; one without its model says so."""
        self._embed_not_before = time.monotonic() + self._embed_pause_s
        self._embed_pause_s = min(_LONGEST_EMBED_PAUSE_S, self._embed_pause_s * 2)
        if error.failure is Failure.TIMEOUT:
            self._embed_factor = min(_LONGEST_EMBED_FACTOR, self._embed_factor * 2)
            if not await self.has_model("embed"):
                error = missing()
        self.last_embed = Attempt(at=time.time(), result=error.failure)
        return error

    async def has_model(self, kind: str) -> bool:
        """Whether the model for `embed` or `rerank` is on this machine."""
        return await self._off_loop(lambda: self._has_model(kind))

    def _has_model(self, kind: str) -> bool:
        document = collections.load(self._home.index_yml)
        return is_present(kind, document, self._program.environ, self._home.cache / "qmd" / "models")

    def _is_update_due(self, request: SyncRequest, scan: Scan) -> bool:
        return request.force or scan.signature != self.ledger.updated or not self._home.index.exists()

    def _is_embed_due(self, request: SyncRequest, scan: Scan) -> bool:
        if not request.embed or self._options.mode is Mode.SEARCH:
            return False
        paused = time.monotonic() < self._embed_not_before
        return request.force or (scan.signature != self.ledger.embedded and not paused)

    def _scan(self) -> Scan:
        wanted = collections.desired(self._corpus)
        return Scan(wanted, maintenance.signature(self._corpus, wanted))

    def _remember(self, **changes: Any) -> None:
        self.ledger = replace(self.ledger, **changes)
        self.ledger.save(self._home.ledger)

    async def _off_loop(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)


@asynccontextmanager
async def _waited_for(turn: AbstractAsyncContextManager[None], work: str) -> AsyncIterator[None]:
    """A turn whose absence is a failure of ours, told apart from a time-out of the work itself."""
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(turn)
        except TimeoutError:
            raise BackendError(Failure.LOCKED, f"No turn for `qmd {work}` came.", hint="See what holds it.") from None
        yield


def _report(counts: Counts | None, embedded: int | None, *, took_s: float) -> SyncReport:
    done = counts or Counts()
    detail = "nothing changed" if counts is None and embedded == 0 else ""
    if embedded is None:
        detail = "another process is embedding; not done yet"
    return SyncReport(
        engine="qmd",
        ran=counts is not None or bool(embedded),
        changed=done.new + done.updated,
        removed=done.removed,
        unchanged=done.unchanged,
        embedded=embedded or 0,
        detail=detail,
        took_s=took_s,
    )
