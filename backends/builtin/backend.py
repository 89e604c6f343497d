"""The built-in engine as one `Backend`: reads in the daemon's threads, writes and embeds in the worker."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar

from backends.base import (
    Answer,
    BackendError,
    BackendStatus,
    Failure,
    Hit,
    Mode,
    Notice,
    Pending,
    Query,
    SyncReport,
    SyncRequest,
)
from backends.builtin.discovery import Known, compare, known_files
from backends.builtin.legs import Legs, Near, Words
from backends.builtin.need import started
from backends.builtin.options import BuiltinOptions, Estimate, IndexJob, Writer
from backends.builtin.ownership import owner_of
from backends.builtin.pace import Pace
from backends.builtin.questions import OTHER_VECTORS, Questions, Semantics, Stored
from backends.builtin.ranking import Places, located, warm
from backends.builtin.reader import Facts, IndexStatistics, Reader, size_bytes
from backends.builtin.successor import successor_of
from backends.builtin.vectors import VectorCache
from backends.corpus import Corpus
from backends.embedding import EmbeddingSpec
from backends.passages import assemble
from backends.relevance import Spread, Statistics
from backends.text.scripts import script_of
from backends.text.tokens import MAX_QUERY_CHARS, query_terms

log = logging.getLogger(__name__)

T = TypeVar("T")

#: The share of the time left that a query's embedding may take before keywords answer alone.
_EMBED_SHARE = 0.6
_BACKGROUND_S = 10.0
_FEW_VECTORS = 4_000
_USUAL_SPREAD = Spread(0.25, 0.8)


class BuiltinBackend:
    """One agent's SQLite index. Cold until the first search; nothing is opened by building it."""

    def __init__(self, *, corpus: Corpus, options: BuiltinOptions, writer: Writer, pool: Executor) -> None:
        self._corpus = corpus
        self._options = options
        self._writer = writer
        self._pool = pool
        self._reader = Reader(options.index)
        self._vectors = VectorCache()
        self._statistics = IndexStatistics(self._reader)
        self._places = Places(corpus)
        self._legs = Legs(self._reader, self._vectors, corpus, options.candidate_multiplier)
        self._questions = Questions(options.embedding, writer)
        self._semantic = options.vector_enabled and self._questions.are_possible
        self._scanned: Pending | None = None
        self._had_index = False
        self._syncing = 0
        #: How far the sync under way is, None when there is none.
        self._progress: dict[str, Any] | None = None
        self._pace = Pace()
        self._started: Notice | None = None
        self._readable = True
        #: Why the last sync failed: it explains a search without an index.
        self._sync_error: BackendError | None = None
        #: In Unix seconds. The index itself is not told of every sync that changed nothing.
        self._synced_at: float | None = None

    @property
    def name(self) -> str:
        """`builtin`."""
        return "builtin"

    @property
    def has_index(self) -> bool:
        """Whether there is a file of it."""
        return self._reader.exists()

    @property
    def has_vectors(self) -> bool:
        """Whether there are vectors to search by, as far as was looked; unknown is yes where there is a file."""
        facts = self._reader.facts
        return facts.vectors > 0 if facts else self._reader.exists()

    @property
    def providers(self) -> tuple[EmbeddingSpec, ...]:
        """What its notes and questions are embedded by."""
        return (self._options.embedding if self._options.vector_enabled else EmbeddingSpec(provider="none"),)

    def statistics(self) -> Statistics | None:
        """Word frequencies of the index for another engine over the same notes, None where there is no index."""
        return self._statistics if self._reader.exists() else None

    async def search(self, query: Query) -> Answer:
        """Answer from the index.

        Until the first sync has made one, the answer is empty, with `pending`; where syncs failed, it is their error.
        """
        return await self._within_deadline(query, self._semantic)

    async def search_words(self, query: Query) -> Answer:
        """The same by words alone, as where a question cannot be embedded."""
        return await self._within_deadline(query, False)

    async def _within_deadline(self, query: Query, semantic: bool) -> Answer:
        remaining_s = query.deadline_at - time.monotonic()
        try:
            async with asyncio.timeout(max(0.0, remaining_s)):
                return await self._search(query, semantic)
        except TimeoutError as error:
            raise BackendError(Failure.TIMEOUT, "The built-in index did not answer in time.") from error

    async def _search(self, query: Query, semantic: bool) -> Answer:
        if not self._reader.exists():
            return await self._unindexed(query)
        try:
            with self._noting_readability():
                return await self._indexed(query, semantic)
        except BackendError as error:
            if error.failure is Failure.EMBEDDING:
                raise
            if self._had_index or self._readable or (self._sync_error is None and not self._syncing):
                raise
            # Half made: by the sync that is under way, or by one that failed.
            return await self._unindexed(query)

    @contextmanager
    def _noting_readability(self) -> Iterator[None]:
        """Remember whether the index could be read, for `status`; a deadline that passed says nothing about that."""
        try:
            yield
        except BackendError as error:
            self._readable = self._readable and error.failure is not Failure.INDEX_LOST
            raise
        self._readable = True

    async def _indexed(self, query: Query, semantic: bool) -> Answer:
        if not semantic:
            words = await self._in_pool(lambda: self._legs.words(query))
            return await self._in_pool(lambda: self._rank(query, words, None, Semantics(late=self._semantic)))
        if self._reader.facts is None:
            # Whose vectors they are says who is asked for the question's.
            await self._in_pool(self._read_facts)
        # The question's vector comes from another process: the keyword leg runs meanwhile.
        meaning = asyncio.create_task(self._nearest(query))
        try:
            words = await self._in_pool(lambda: self._legs.words(query))
            semantics, near = await meaning
            if self._is_of_another(semantics):
                # The file was exchanged while the question was embedded: what answers now has other vectors.
                semantics, near = await self._nearest(query)
        finally:
            meaning.cancel()
        return await self._in_pool(lambda: self._rank(query, words, near, semantics))

    async def _nearest(self, query: Query) -> tuple[Semantics, Near | None]:
        semantics = await self._semantics(query)
        facts = self._reader.facts
        if semantics.vector is None or (facts and facts.vectors <= _FEW_VECTORS):
            # So few are compared faster than a thread is called.
            return semantics, None
        return semantics, await self._in_pool(lambda: self._legs.nearest(query, semantics))

    async def _unindexed(self, query: Query) -> Answer:
        if self._had_index:
            # What is only closed to us says so.
            await self._in_pool(lambda: owner_of(self._options.index))
            raise BackendError(Failure.INDEX_LOST, "The index is gone.", hint="A sync rebuilds it from the notes.")
        if self._sync_error is not None:
            error = self._sync_error
            raise BackendError(error.failure, error.message, hint=error.hint)
        if self._scanned is None:
            self._scanned = await self._in_pool(lambda: compare(self._corpus, {}).pending())
        return Answer(hits=(), engine=self.name, via="index", mode=query.mode, pending=self._scanned)

    async def _semantics(self, query: Query) -> Semantics:
        """The query's vector."""
        if not self._wants_vectors():
            return Semantics()
        limit_s = (query.deadline_at - time.monotonic()) * _EMBED_SHARE
        return await self._questions.semantics(query.text[:MAX_QUERY_CHARS], self._embedding, limit_s)

    def _embedding(self) -> Stored:
        facts = self._reader.facts
        return facts.embedding if facts else None

    def _is_of_another(self, semantics: Semantics) -> bool:
        """Whether the query's vector cannot be compared with those of the index, as far as that is known."""
        facts = self._reader.facts
        return bool(semantics.vector and facts and facts.vectors and semantics.against(facts.embedding) is None)

    def _wants_vectors(self) -> bool:
        """Whether the query is to be embedded. What the index holds is unknown before the first lease: ask."""
        facts = self._reader.facts
        # A provider that is required and cannot be used must be told, although it gave no vector yet.
        return facts is None or facts.vectors > 0 or self._options.embedding.required

    def _rank(self, query: Query, words: Words, near: Near | None, semantics: Semantics) -> Answer:
        """Merge the legs' candidates, and score passages read back from the files."""
        with self._reader.lease(query.deadline_at) as lease:
            self._had_index = True
            facts = lease.facts
            spread = facts.spreads.get(script_of(query.text), _USUAL_SPREAD)
            vector = semantics.against(facts.embedding)
            if facts.vectors and vector is None and semantics.vector is not None:
                # Its model is gone, or it was exchanged once more.
                semantics = replace(semantics, late=True, notice=OTHER_VECTORS)
            pool = self._legs.pool(lease, query, words, near, vector)
            candidates = located(lease, self._places, self._legs.chosen(query, pool), pool.cosines, spread)
            warm(lease, query_terms(query.text))
        with_vectors = bool(pool.cosines)
        ran = self._mode_that_ran(query, with_vectors)
        found = assemble(candidates, replace(query, mode=ran), self._statistics, self._options.ranking)
        answer = self._answer(tuple(found.hits), ran, facts, semantics, with_vectors)
        answer = replace(answer, below_min_score=found.below_min_score)
        if not query.explain:
            return answer
        return replace(answer, explain={"candidates": pool.explained(), **found.explained()})

    def _mode_that_ran(self, query: Query, with_vectors: bool) -> Mode:
        if not with_vectors:
            return Mode.SEARCH if query.mode is Mode.VSEARCH else query.mode
        return query.mode if self._options.hybrid else Mode.VSEARCH

    def _answer(
        self, hits: tuple[Hit, ...], mode: Mode, facts: Facts, semantics: Semantics, with_vectors: bool
    ) -> Answer:
        embedding = facts.embedding if with_vectors and facts.embedding else {}
        return Answer(
            hits=hits,
            engine=self.name,
            via="index",
            mode=mode,
            provider=embedding.get("provider"),
            model=embedding.get("model"),
            partial=semantics.late,
            pending=self._scanned,
            notices=tuple(self._notices(facts, semantics)),
        )

    def _notices(self, facts: Facts, semantics: Semantics) -> Iterator[Notice]:
        if semantics.notice:
            yield semantics.notice
        yield from (Notice(**notice) for notice in facts.notices)

    async def sync(self, request: SyncRequest) -> SyncReport:
        """Have the worker bring the index up to date. Raises `BackendError`."""
        self._syncing += 1
        try:
            report = await self._writer.index(self._job(request), self._heard)
        except BackendError as error:
            self._sync_error = error.to_keep()
            await self._look()
            raise
        finally:
            self._syncing -= 1
            self._progress = self._started = None
            self._pace = Pace()
        self._scanned = self._sync_error = None
        self._synced_at = time.time()
        await self._look()
        return report

    async def estimate(self) -> Estimate:
        """What a sync would have to embed by now. Raises `BackendError`."""
        return await self._writer.estimate(self._job(SyncRequest(reason="estimate")))

    def _heard(self, progress: dict[str, Any]) -> None:
        if progress["phase"] != "embedding_started":
            self._progress = self._pace.timed(progress)
            return
        fields = {key: value for key, value in progress.items() if key != "phase"}
        log.info("embedding started", extra={"fields": {"agent": self._corpus.agent_id, **fields}})
        self._started = started(fields)

    def _job(self, request: SyncRequest) -> IndexJob:
        return IndexJob(
            corpus=self._corpus,
            options=self._options,
            force=request.force,
            embed=request.embed,
            purge=request.purge,
            damaged=self._reader.damaged,
        )

    async def _look(self) -> None:
        """Take note of the index's new state, for `status`."""
        with suppress(BackendError), self._noting_readability():
            await self._in_pool(self._read_facts)

    async def scan(self) -> Pending:
        """Compare the disk with the index, by names, times and sizes. What differs is pending until the next sync."""
        with self._noting_readability():
            pending = await self._in_pool(self._scan)
        self._scanned = pending if pending.files else None
        return pending

    def _scan(self) -> Pending:
        known: dict[str, Known] = {}
        skipped: Mapping[str, str] = {}
        if self._reader.exists():
            with self._reader.lease(time.monotonic() + _BACKGROUND_S) as lease:
                known = known_files(lease.connection)
                # Only what the index has no row of waits for nothing: what was seen and changed since does wait.
                skipped = {path: why for path, why in lease.facts.skipped.items() if path not in known}
        return compare(self._corpus, known).pending(skipped)

    def _read_facts(self) -> None:
        with self._reader.lease(time.monotonic() + _BACKGROUND_S):
            self._had_index = True

    def status(self) -> BackendStatus:
        """What the last search or sync saw; opens nothing."""
        facts = self._reader.facts
        return BackendStatus(
            backend=self.name,
            ready=self._readable and self._reader.exists(),
            documents=facts.documents if facts else None,
            pending=self._scanned,
            notices=tuple(self._all_notices(facts)),
            detail=self._detail(facts),
        )

    def _all_notices(self, facts: Facts | None) -> Iterator[Notice]:
        if self._started:
            yield self._started
        if facts:
            yield from self._notices(facts, Semantics())

    def _detail(self, facts: Facts | None) -> dict[str, Any]:
        index = self._options.index
        passing: dict[str, Any] = {"sizeBytes": size_bytes(index)}
        if building := size_bytes(successor_of(index)):
            passing["buildingBytes"] = building
        if self._progress is not None:
            passing["progress"] = self._progress
        if facts is None:
            return passing
        embedding = facts.embedding or {}
        return {
            **passing,
            "chunks": facts.chunks,
            "vectors": facts.vectors,
            "provider": embedding.get("provider"),
            "model": embedding.get("model"),
            "dims": embedding.get("dims"),
            "vectorStore": facts.vector_store,
            "lastSync": self._synced_at or facts.last_sync,
            "skipped": dict(facts.skipped),
        }

    async def close(self) -> None:
        """Close the index and give the vectors' memory back. Safe to call twice."""
        self._reader.close()
        self._vectors.drop()

    async def _in_pool(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)
