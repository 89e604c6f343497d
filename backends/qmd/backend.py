"""qmd as a `Backend`: asked through a warm child or a new one, every hit read back from its file."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace

from backends.base import (
    Answer,
    BackendError,
    BackendStatus,
    Failure,
    Hit,
    Mode,
    Notice,
    Query,
    SyncReport,
    SyncRequest,
    disk_full,
)
from backends.corpus import Corpus, Located
from backends.full_disk import is_full_disk
from backends.passages import Assembled, Candidate, assemble
from backends.qmd.asking import Ask, Asking, Found
from backends.qmd.days import files_of
from backends.qmd.displaced import displaced
from backends.qmd.forgetting import discard_index
from backends.qmd.home import QmdHome, QmdOptions
from backends.qmd.install import Install
from backends.qmd.locating import Places, locate
from backends.qmd.models import Models, Presence, keywords_only, missing
from backends.qmd.output import Row
from backends.qmd.pool import ResidentPool
from backends.qmd.program import Program
from backends.qmd.rooms import SAFE_FREQUENCY, rooms_of
from backends.qmd.status import describe
from backends.qmd.syncing import Syncing, Turn
from backends.qmd.terms import Terms, terms_of
from backends.relevance import Statistics

# What rank says about relevance when qmd tells no distance: a best guess that never outbids covered words.
_BEST_BY_RANK = 0.6
_RANK_SLOPE = 0.15
#: How long the presence of a model file is believed, in seconds.
_MODEL_BELIEVED_S = 30.0

_NUMBERS = itertools.count(1)


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
        # Of its own: the resident of an agent that is made anew belongs to the old one until that is closed.
        self._key = f"{home.cache} {next(_NUMBERS)}"
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
        self._models: Models | None = None
        self._models_at = 0.0

    async def probe(self) -> None:
        """Find a qmd that runs and says its version, and the models. Raises `BackendError` with what is missing."""
        await self._program.current()
        await self._known_models()

    async def search(self, query: Query) -> Answer:
        """Ask qmd for files, cut the passages that answer. Raises `BackendError`."""
        install = await self._program.current()
        await self._check_index()
        statistics = self._statistics()
        # Frequencies may have to be looked up in an index.
        terms = await asyncio.get_running_loop().run_in_executor(self._pool, terms_of, query.text, statistics)
        scoped = self._is_crowded(install, terms)
        groups = rooms_of(self._corpus, self._syncing.ledger, query.sources, apart=scoped)
        mode, notices = await self._possible(install, query.mode)
        if terms.empty or not groups:
            return self._answer((), Found(rows=(), via="command"), mode, (*notices, *self._held()))
        ask = Ask(
            terms=terms,
            mode=mode,
            groups=groups,
            rerank=await self._may_rerank(mode),
            deadline_at=query.deadline_at,
            scoped=scoped,
        )
        found = await self._asking.find(install, ask)
        cut, places = await asyncio.get_running_loop().run_in_executor(
            self._pool, lambda: self._cut(found, query, statistics)
        )
        answer = self._answer(cut.hits, found, mode, (*notices, *found.notices, *places.notices(), *self._held()))
        answer = replace(answer, below_min_score=cut.below_min_score)
        return replace(answer, explain=cut.explained()) if query.explain else answer

    async def sync(self, request: SyncRequest) -> SyncReport:
        """Update the index, and the vectors when the mode wants them. Raises `BackendError`."""
        try:
            return await self._syncing.sync(request)
        except BackendError:
            if request.purge:
                # What cannot be cleaned is not kept: the next update makes it anew from the files.
                await self._residents.retire(self._key)
                discard_index(self._home)
            raise
        except OSError as error:
            if is_full_disk(error):
                raise disk_full() from error
            message = f"qmd's folders cannot be written: {error.strerror or type(error).__name__}."
            raise BackendError(Failure.EXITED, message, hint=f"Look at {self._home.config}.") from error
        finally:
            self._models = None
            await self._known_models()

    def status(self) -> BackendStatus:
        """What is known now."""
        ledger, install = self._syncing.ledger, self._program.known
        detail = describe(self._options, install, self._residents, self._key, self._syncing, self._models)
        return BackendStatus(
            backend=self.name,
            ready=install is not None and bool(ledger.updated),
            documents=ledger.documents if ledger.updated else None,
            notices=(*self._held(), *self._semantic_notices()),
            detail=detail,
        )

    async def close(self) -> None:
        """End this agent's resident."""
        await self._residents.retire(self._key)

    async def _binary_changed(self) -> None:
        await self._residents.retire(self._key)
        self._syncing.forgive()

    async def _check_index(self) -> None:
        """An index that was never built, or is gone, must not answer "nothing found" as qmd would."""
        if not self._syncing.ledger.updated and not self._syncing.ledger.aliases:
            raise BackendError(
                Failure.INDEX_LOST, "qmd's index is not built yet.", hint="It is built by the next sync."
            )
        if not self._home.index.exists():
            await self._residents.retire(self._key)
            raise BackendError(Failure.INDEX_LOST, "qmd's index is gone.", hint="It is rebuilt by the next sync.")

    def _is_crowded(self, install: Install, terms: Terms) -> bool:
        """Whether one collection could fill qmd's list of candidates and leave no room for the others."""
        frequency = self._syncing.ledger.documents if terms.frequency is None else terms.frequency
        return install.able.global_cut and min(frequency, self._syncing.ledger.documents) > SAFE_FREQUENCY

    async def _possible(self, install: Install, mode: Mode) -> tuple[Mode, tuple[Notice, ...]]:
        """The mode that can run: meaning needs vectors and a model, else qmd would hang without a word."""
        if mode is Mode.SEARCH:
            return mode, ()
        embed = (await self._known_models()).embed
        if self._syncing.ledger.embedded and embed is Presence.PRESENT and install.able.typed:
            return mode, ()
        if mode is Mode.VSEARCH:
            raise missing(embed)
        return Mode.SEARCH, (keywords_only(embed),)

    async def _may_rerank(self, mode: Mode) -> bool:
        wanted = mode is Mode.QUERY and self._options.rerank is not False
        return wanted and (await self._known_models()).rerank is Presence.PRESENT

    async def _known_models(self) -> Models:
        if self._models is None or time.monotonic() - self._models_at > _MODEL_BELIEVED_S:
            self._models, self._models_at = await self._syncing.models(), time.monotonic()
        return self._models

    def _semantic_notices(self) -> tuple[Notice, ...]:
        """What an operator is told of a mode that wants meaning and has no model for it."""
        if self._options.mode is Mode.SEARCH or self._models is None or self._models.embed is Presence.PRESENT:
            return ()
        return (keywords_only(self._models.embed),)

    def _cut(self, found: Found, query: Query, statistics: Statistics | None) -> tuple[Assembled, Places]:
        places = locate(found.rows, self._corpus, self._syncing.ledger.aliases)
        words = query.mode is not Mode.VSEARCH
        candidates = [each for row, located in places.found for each in _candidates(row, located, found, words=words)]
        candidates += [Candidate(located=located) for located in files_of(self._corpus, query)]
        candidates += [Candidate(located=located) for located in displaced(self._corpus, query, places)]
        return assemble(candidates, query, statistics, self._options.ranking), places

    def _held(self) -> tuple[Notice, ...]:
        losses = self._syncing.ledger.losses
        if not losses:
            return ()
        message = f"Of {', '.join(losses)} all or most files are gone; the index keeps what it had of them for now."
        action = (
            "Bring the files back. If they are gone on purpose, run `qmd-sidecar sync --force`, or wait ten minutes."
        )
        return (Notice("source_missing", message, action),)

    def _answer(self, hits: Sequence[Hit], found: Found, mode: Mode, notices: tuple[Notice, ...]) -> Answer:
        return Answer(
            hits=tuple(hits), engine=self.name, via=found.via, mode=mode, partial=found.partial, notices=notices
        )


def _candidates(row: Row, located: Located, found: Found, *, words: bool) -> Iterator[Candidate]:
    """The whole file, for the words in it, and the line that was found by meaning, for what has none of them."""
    if words:
        yield Candidate(located=located)
    if row.file in found.meant:
        rank, meant = found.meant[row.file]
        yield Candidate(located=located, start_line=meant.line, end_line=meant.line, vector_score=by_rank(rank))


def by_rank(rank: int) -> float:
    """A relevance for the row at `rank` (0-based) of a search by meaning that tells no distances."""
    return _BEST_BY_RANK / (1 + _RANK_SLOPE * rank)
