"""qmd as a `Backend`: asked through a warm child or a new one, every hit read back from its file."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from typing import Any

from backends.base import (
    Answer,
    BackendError,
    BackendStatus,
    Failure,
    Hit,
    Mode,
    Notice,
    Query,
    Source,
    SyncReport,
    SyncRequest,
)
from backends.corpus import Corpus, Kind
from backends.passages import Candidate, assemble
from backends.qmd.asking import Ask, Asking, Found
from backends.qmd.home import QmdHome, QmdOptions
from backends.qmd.locating import Places, locate
from backends.qmd.models import keywords_only, missing
from backends.qmd.output import Row
from backends.qmd.pool import ResidentPool
from backends.qmd.program import Program
from backends.qmd.syncing import Attempt, Syncing, Turn
from backends.qmd.terms import terms_of
from backends.relevance import Statistics

# What rank says about relevance when qmd tells no distance: a best guess that never outbids covered words.
_BEST_BY_RANK = 0.6
_RANK_SLOPE = 0.15
#: How long the presence of a model file is believed, in seconds.
_MODEL_BELIEVED_S = 30.0


@dataclass(frozen=True, slots=True)
class _Semantics:
    """Which models were on this machine at a moment of monotonic time."""

    embed: bool
    rerank: bool
    at: float


class QmdBackend:
    """One agent's qmd. Files are read and walked in `pool`; `turn` gives machine-wide turns to the writers."""

    name = "qmd"

    def __init__(
        self,
        *,
        corpus: Corpus,
        home: QmdHome,
        options: QmdOptions,
        residents: ResidentPool,
        turn: Turn,
        statistics: Callable[[], Statistics | None],
        pool: Executor,
        environ: Mapping[str, str],
    ) -> None:
        self._corpus = corpus
        self._home = home
        self._options = options
        self._residents = residents
        self._statistics = statistics
        self._pool = pool
        # Two agents never share a home, so it names the resident; agent ids of two daemons may be equal.
        self._key = str(home.cache)
        self._program = Program(home, options, environ, self._binary_changed)
        self._asking = Asking(self._program, residents, self._key, resident=options.resident)
        self._syncing = Syncing(
            corpus=corpus,
            home=home,
            options=options,
            program=self._program,
            asking=self._asking,
            turn=turn,
            pool=pool,
        )
        self._semantics: _Semantics | None = None

    async def probe(self) -> None:
        """Find a qmd that runs and says its version. Raises `BackendError` with what is missing or broken."""
        await self._program.current()

    async def search(self, query: Query) -> Answer:
        """Ask qmd for files, cut the passages that answer. Raises `BackendError`."""
        install = await self._program.current()
        await self._check_index()
        statistics = self._statistics()
        terms = terms_of(query.text, statistics)
        groups = self._groups(query.sources)
        mode, notices = await self._possible(query.mode)
        if terms.empty or not groups:
            return self._answer((), Found(rows=(), via="command"), mode, (*notices, *self._held()))
        ask = Ask(
            terms=terms, mode=mode, groups=groups, rerank=await self._may_rerank(mode), deadline_at=query.deadline_at
        )
        found = await self._asking.find(install, ask)
        hits, places = await asyncio.get_running_loop().run_in_executor(
            self._pool, lambda: self._cut(found.rows, query, mode, statistics)
        )
        return self._answer(hits, found, mode, (*notices, *found.notices, *places.notices(), *self._held()))

    async def sync(self, request: SyncRequest) -> SyncReport:
        """Update the index, and the vectors when the mode wants them. Raises `BackendError`."""
        try:
            return await self._syncing.sync(request)
        except OSError as error:
            message = f"qmd's folders cannot be written: {error.strerror or type(error).__name__}."
            raise BackendError(Failure.EXITED, message, hint=f"Look at {self._home.config}.") from error
        finally:
            self._semantics = None

    def status(self) -> BackendStatus:
        """What is known now."""
        ledger, resident = self._syncing.ledger, self._residents.current(self._key)
        install = self._program.known
        detail = {
            "version": install.label if install else None,
            "binary": str(install.binary.path) if install else None,
            "mode": self._options.mode.value,
            "resident": {"pid": resident.pid, "busy": resident.busy} if resident else None,
            "collections": sorted(ledger.owned),
            "held": list(self._syncing.held),
            "lastUpdate": _attempt(self._syncing.last_update, ledger.updated_at),
            "lastEmbed": _attempt(self._syncing.last_embed, ledger.embedded_at),
        }
        return BackendStatus(
            backend=self.name,
            ready=install is not None and bool(ledger.updated),
            documents=ledger.documents if ledger.updated else None,
            notices=self._held(),
            detail=detail,
        )

    async def close(self) -> None:
        """End this agent's resident."""
        await self._residents.retire(self._key)

    async def _binary_changed(self) -> None:
        await self._residents.retire(self._key)

    async def _check_index(self) -> None:
        """An index that was never built, or is gone, must not answer "nothing found" as qmd would."""
        if not self._syncing.ledger.updated:
            raise BackendError(
                Failure.INDEX_LOST, "qmd's index is not built yet.", hint="It is built by the next sync."
            )
        if not self._home.index.exists():
            await self._residents.retire(self._key)
            raise BackendError(Failure.INDEX_LOST, "qmd's index is gone.", hint="It is rebuilt by the next sync.")

    def _groups(self, sources: frozenset[Source]) -> tuple[tuple[str, ...], ...]:
        """Our collections that may be searched: notes and sessions apart."""
        names = [root for root in self._corpus.roots if root.name in self._syncing.ledger.owned]
        notes = tuple(root.name for root in names if root.kind is not Kind.SESSION and Source.MEMORY in sources)
        sessions = tuple(root.name for root in names if root.kind is Kind.SESSION and Source.SESSIONS in sources)
        return tuple(group for group in (notes, sessions) if group)

    async def _possible(self, mode: Mode) -> tuple[Mode, tuple[Notice, ...]]:
        """The mode that can run: meaning needs vectors and a model, else qmd would hang without a word."""
        if mode is Mode.SEARCH or (self._syncing.ledger.embedded and (await self._models()).embed):
            return mode, ()
        if mode is Mode.VSEARCH:
            raise missing()
        return Mode.SEARCH, (keywords_only(),)

    async def _may_rerank(self, mode: Mode) -> bool:
        wanted = mode is Mode.QUERY and self._options.rerank is not False
        return wanted and (await self._models()).rerank

    async def _models(self) -> _Semantics:
        known = self._semantics
        if known is None or time.monotonic() - known.at > _MODEL_BELIEVED_S:
            embed = await self._syncing.has_model("embed")
            known = _Semantics(embed, await self._syncing.has_model("rerank"), time.monotonic())
            self._semantics = known
        return known

    def _cut(
        self, rows: Sequence[Row], query: Query, mode: Mode, statistics: Statistics | None
    ) -> tuple[tuple[Hit, ...], Places]:
        places = locate(rows, self._corpus)
        candidates = [
            Candidate(located=located)
            if mode is not Mode.VSEARCH
            else Candidate(located=located, start_line=row.line, end_line=row.line, vector_score=by_rank(rank))
            for rank, (row, located) in enumerate(places.found)
        ]
        return tuple(assemble(candidates, query, statistics, self._options.weights)), places

    def _held(self) -> tuple[Notice, ...]:
        held = self._syncing.ledger.parked
        if not held:
            return ()
        message = f"The folder of {', '.join(held)} is missing; its documents are kept until it returns."
        return (Notice("source_missing", message, "Bring the folder back, or remove it from the configuration."),)

    def _answer(self, hits: tuple[Hit, ...], found: Found, mode: Mode, notices: tuple[Notice, ...]) -> Answer:
        return Answer(hits=hits, engine=self.name, via=found.via, mode=mode, partial=found.partial, notices=notices)


def by_rank(rank: int) -> float:
    """A relevance for the row at `rank` (0-based) of a search by meaning that tells no distances."""
    return _BEST_BY_RANK / (1 + _RANK_SLOPE * rank)


def _attempt(last: Attempt | None, good_at: float) -> dict[str, Any]:
    return {**(asdict(last) if last else {}), "lastGoodAt": good_at or None}
