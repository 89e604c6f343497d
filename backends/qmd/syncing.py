"""Bring one agent's index up to date: write the collections, update, prove it, embed. One at a time.

Nothing is started when no file changed since the last good run, also not after a restart.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from backends.base import BackendError, Failure, Mode, SyncReport, SyncRequest
from backends.corpus import Corpus
from backends.qmd import collections, command, forgetting, maintenance
from backends.qmd.asking import Asking
from backends.qmd.binding import Binding
from backends.qmd.guard import Loss, Reason, judge
from backends.qmd.home import WRITE_BUSY_TIMEOUT_MS, QmdHome, QmdOptions
from backends.qmd.ignored import Ignored
from backends.qmd.install import Install
from backends.qmd.ledger import Ledger, Remembered
from backends.qmd.maintenance import Counts
from backends.qmd.models import Models, Presence, look, missing
from backends.qmd.pausing import Pause
from backends.qmd.program import Program
from backends.qmd.scanning import Scan, guarded, scan

log = logging.getLogger(__name__)

#: Gives out machine-wide turns for heavy work: `update`, `embed`. Raises `TimeoutError` when none comes.
Turn = Callable[[str], AbstractAsyncContextManager[None]]

T = TypeVar("T")

_LONGEST_EMBED_FACTOR = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """How the last run of a writer ended: Unix seconds, and `ok` or the failure's class."""

    at: float
    result: str


class Syncing:
    """The writers of one index. The attempts, `ignored` and `models` are what is known now, `ledger` what is kept.

    `wall` is Unix time in seconds.
    """

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
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._corpus = corpus
        self._home = home
        self._options = options
        self._program = program
        self._asking = asking
        self._turn = turn
        self._pool = pool
        self._wall = wall
        self._writer = asyncio.Lock()
        self._remembered = Remembered(home.ledger)
        self._binding = Binding(
            agent_id=corpus.agent_id,
            home=home,
            options=options,
            program=program,
            asking=asking,
            remembered=self._remembered,
            pool=pool,
        )
        self.last_update: Attempt | None = None
        self.last_embed: Attempt | None = None
        self.ignored = Ignored()

    @property
    def ledger(self) -> Ledger:
        """What is remembered about this index."""
        return self._remembered.now

    async def sync(self, request: SyncRequest) -> SyncReport:
        """Do what is due. Raises `BackendError`; what was done before it stays done."""
        started_at = time.monotonic()
        async with self._writer:
            install = await self._program.current()
            found = await self._off_loop(lambda: scan(self._corpus))
            self.ignored = found.ignored
            self._disown(found)
            signature = found.signature(without=self._judge(request, found))
            counts = await self._update(install, found, signature) if self._update_due(request, signature) else None
            await self._clean_if_due(request, install)
            embedded = await self._embed(install, signature) if self._embed_due(request, signature) else 0
        return _report(counts, embedded, took_s=time.monotonic() - started_at)

    def forgive(self) -> None:
        """Forget the pauses: another qmd took the place of the one that failed."""
        self._remembered.change(update_pause=Pause(), embed_pause=Pause(), embed_factor=1)

    async def models(self) -> Models:
        """Which models are on this machine, by a look at their files."""
        return await self._off_loop(self._look)

    def _disown(self, found: Scan) -> None:
        """Believe nothing of roots that lead elsewhere than when they were indexed: their files were other files."""
        known = self.ledger
        wanted = ((want.name, want.path) for want in found.wanted.collections)
        moved = {name for name, path in wanted if name in known.owned and known.owned[name][0] != path}
        if moved:
            files = {name: count for name, count in known.files.items() if name not in moved}
            losses = {name: loss for name, loss in known.losses.items() if name not in moved}
            self._remembered.change(updated="", embedded="", files=files, losses=losses)

    def _judge(self, request: SyncRequest, found: Scan) -> dict[str, Loss]:
        """The roots to hold. What is not held is believed, and is what the next scan is compared with."""
        known = self.ledger
        counts = guarded(self._corpus, found.files)
        held = {} if request.force else judge(known.files, counts, known.losses, self._wall())
        for name in held.keys() - known.losses.keys():
            log.warning("root held", extra={"fields": self._fields(root=name, reason=str(held[name].reason))})
        for name in known.losses.keys() - held.keys():
            log.info("root released", extra={"fields": self._fields(root=name)})
        believed = {name: count or 0 for name, count in counts.items() if name not in held}
        kept = {name: known.files[name] for name in held}
        self._remembered.change(losses=held, files=believed | kept)
        return held

    async def _update(self, install: Install, found: Scan, signature: str) -> Counts:
        was_clean = self.ledger.clean
        # A kill from here on leaves it unknown what went.
        self._remembered.change(clean=False)
        async with _waited_for(self._turn("update"), "update"):
            try:
                counts = await self._update_and_prove(install, found)
            except BackendError as error:
                now = self._wall()
                self.last_update = Attempt(at=now, result=error.failure)
                self._remembered.change(update_pause=self.ledger.update_pause.longer(now, error.failure))
                raise
        self.last_update = Attempt(at=self._wall(), result="ok")
        self._remembered.change(
            updated=signature,
            clean=was_clean and not counts.removed,
            documents=counts.documents + sum(self.ledger.files[name] for name in self._shrunk()),
            pending_vectors=await self._pending_vectors(counts),
            updated_at=self._wall(),
            update_pause=Pause(),
        )
        return counts

    async def _clean_if_due(self, request: SyncRequest, install: Install) -> None:
        if request.purge:
            await self._clean(install)
        elif not self.ledger.clean:
            try:
                await self._clean(install)
            except BackendError as error:
                # Search is none the worse for it, and the next sync tries again.
                log.warning("index not cleaned", extra={"fields": self._fields(reason=str(error.failure))})

    async def _clean(self, install: Install) -> None:
        """Leave nothing in the index of files that are gone. Its last reader moves the log into it, and removes it."""
        await self._asking.retire()
        async with _waited_for(self._turn("update"), "cleanup"):
            await maintenance.cleanup(
                command.cleanup(install),
                self._program.surroundings(busy_timeout_ms=WRITE_BUSY_TIMEOUT_MS),
                timeout_s=self._options.update_timeout_s,
            )
        await self._off_loop(lambda: forgetting.discard_copies(self._home))
        self._remembered.change(clean=True)

    async def _update_and_prove(self, install: Install, found: Scan) -> Counts:
        """Update until a running qmd reports our collections: once, and once more if something had to be repaired."""
        for last in (False, True):
            step = await self._binding.write(install, found.wanted, self._shrunk())
            try:
                counts = await self._run_update(install)
            except BackendError as error:
                if last or error.failure is not Failure.INDEX_LOST:
                    raise
                await self._asking.retire()
                await self._off_loop(lambda: maintenance.set_aside(self._home.index))
                continue
            updated = found.wanted.without(self._shrunk())
            wrong = await self._binding.read_back(install, updated, step)
            if not wrong:
                await self._binding.finish_migration(install)
                return counts
            await self._binding.add(install, updated, wrong)
        message = f"qmd does not see the collection(s) {', '.join(wrong)} as they were written."
        raise BackendError(Failure.INDEX_LOST, message, hint=f"Look at {self._home.index_yml}.")

    async def _run_update(self, install: Install) -> Counts:
        held = bool(self._shrunk())
        surroundings = self._program.surroundings(busy_timeout_ms=WRITE_BUSY_TIMEOUT_MS, updating=held)
        return await maintenance.update(command.update(install), surroundings, timeout_s=self._options.update_timeout_s)

    def _shrunk(self) -> list[str]:
        """Roots that are there, but lost so much that it is not believed yet."""
        return [name for name, loss in self.ledger.losses.items() if loss.reason == Reason.SHRUNK]

    async def _pending_vectors(self, counts: Counts) -> int:
        """Documents without vectors: as a running resident counts them, else as the update said."""
        told = (await self._binding.reported()).get("needsEmbedding")
        return told if isinstance(told, int) and told >= 0 else counts.pending_vectors

    async def _embed(self, install: Install, signature: str) -> int | None:
        if (await self.models()).embed is Presence.BROKEN:
            raise self._embed_failed(missing(Presence.BROKEN))
        async with _waited_for(self._turn("embed"), "embed"):
            try:
                embedded = await maintenance.embed(
                    command.embed(install),
                    self._program.surroundings(busy_timeout_ms=WRITE_BUSY_TIMEOUT_MS),
                    timeout_s=self._options.embed_timeout_s * self.ledger.embed_factor,
                )
            except BackendError as error:
                raise self._embed_failed(await self._explained(error)) from error
        self.last_embed = Attempt(at=self._wall(), result="skipped" if embedded is None else "ok")
        if embedded is not None:
            pending = await self._pending_vectors(Counts(pending_vectors=0))
            self._remembered.change(
                embedded=signature,
                embedded_at=self._wall(),
                pending_vectors=pending,
                embed_pause=Pause(),
                embed_factor=1,
            )
        return embedded

    async def _explained(self, error: BackendError) -> BackendError:
        """An embed without its model hangs until its deadline, with the machine's one turn in its hand."""
        if error.failure is Failure.TIMEOUT and (await self.models()).embed is not Presence.PRESENT:
            return missing()
        return error

    def _embed_failed(self, error: BackendError) -> BackendError:
        """A long first embed gets more time at every attempt, later and later."""
        now, known = self._wall(), self.ledger
        slow = error.failure is Failure.TIMEOUT
        self._remembered.change(
            embed_pause=known.embed_pause.longer(now, error.failure),
            embed_factor=min(_LONGEST_EMBED_FACTOR, known.embed_factor * 2) if slow else known.embed_factor,
        )
        self.last_embed = Attempt(at=now, result=error.failure)
        return error

    def _look(self) -> Models:
        document = collections.load(self._home.index_yml)
        return look(document, self._program.environ, self._home.cache / "qmd" / "models")

    def _update_due(self, request: SyncRequest, signature: str) -> bool:
        """Whether there is something to update. Raises `BackendError` while a pause after failures lasts."""
        if request.force or request.purge:
            return True
        if signature == self.ledger.updated and self._home.index.exists():
            return False
        if self.ledger.update_pause.lasts(self._wall()):
            raise _paused(self.ledger.update_pause)
        return True

    def _embed_due(self, request: SyncRequest, signature: str) -> bool:
        if not request.embed or self._options.mode is Mode.SEARCH:
            return False
        paused = self.ledger.embed_pause.lasts(self._wall())
        return request.force or (signature != self.ledger.embedded and not paused)

    def _fields(self, **fields: str) -> dict[str, str]:
        return {"agent": self._corpus.agent_id, **fields}

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


def _paused(pause: Pause) -> BackendError:
    failure = next((known for known in Failure if known == pause.cause), Failure.EXITED)
    message = f"`qmd update` failed {pause.failures} time(s) in a row and is given a pause."
    return BackendError(failure, message, hint="A forced sync tries at once.")


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
