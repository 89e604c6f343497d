"""The two legs of one search: the chunks that hold its words, and those nearest to its meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from backends.base import Mode, Query, Source
from backends.builtin.filters import Filter
from backends.builtin.lexical import dated_candidates, keyword_candidates, named_candidates
from backends.builtin.questions import Semantics
from backends.builtin.ranking import fused
from backends.builtin.reader import Facts, Lease, Reader
from backends.builtin.schema import fetch_value
from backends.builtin.vectors import VectorCache
from backends.corpus import Corpus, Kind
from backends.embedding import Vectors
from backends.text.asked_days import asked_days
from backends.text.tokens import MAX_QUERY_CHARS, query_terms

#: At least so many chunks are scored in full, however few results are wanted: the pool must not depend on
#: `max_results`, or a longer list would not begin with the shorter one.
POOL = 80
#: Where conversations are searched, too, so many chunks of notes are in the pool however many conversations match.
_NOTES = 24
#: So many chunks of each span of days that a question names are in it, whatever words they hold,
_DATED = 24
#: of so many spans,
_SPANS = 4
#: and so many files that it names, however many mention them.
_NAMED = 24
#: Lists up to this length are beginnings of each other.
_ALIKE_RESULTS = 20


@dataclass(frozen=True, slots=True)
class Words:
    """Numbers of chunks that the keyword leg chose, and the state of the index that they are of.

    `lists` are best first each: what holds the words, then what has a place of its own in the pool.
    """

    lists: Sequence[Sequence[int]]
    facts: Facts

    @property
    def numbers(self) -> list[int]:
        """All of them, each once."""
        return list(dict.fromkeys(chain.from_iterable(self.lists)))


@dataclass(frozen=True, slots=True)
class Near:
    """Cosines of the nearest chunks by number, and the state of the index that they are of; `lists` as for words."""

    lists: Sequence[Sequence[int]]
    cosines: Mapping[int, float]
    facts: Facts


@dataclass(frozen=True, slots=True)
class Pool:
    """What both legs found, for a search to score in full; `cosines` of the chunks that have a vector."""

    words: Words
    near: Near
    cosines: Mapping[int, float]

    def explained(self) -> dict[str, Any]:
        """How many chunks each leg found, JSON-ready."""
        return {"words": len(self.words.numbers), "vectors": len(self.near.cosines)}


class Legs:
    """Both legs over one index. Synchronous and thread-safe."""

    def __init__(self, reader: Reader, vectors: VectorCache, corpus: Corpus, candidate_multiplier: int) -> None:
        self._reader = reader
        self._vectors = vectors
        self._candidate_multiplier = candidate_multiplier
        self._has_sessions = any(root.kind is Kind.SESSION for root in corpus.roots)

    def size(self, query: Query) -> int:
        """How many chunks each leg may find."""
        return max(POOL, self._candidate_multiplier * max(query.max_results, _ALIKE_RESULTS))

    def words(self, query: Query) -> Words:
        """Chunks that hold words of the query; none when only meaning is asked for."""
        with self._reader.lease(query.deadline_at) as lease:
            return self._wanted_words(lease, query)

    def _wanted_words(self, lease: Lease, query: Query) -> Words:
        return Words((), lease.facts) if query.mode is Mode.VSEARCH else self._words_in(lease, query)

    def _words_in(self, lease: Lease, query: Query) -> Words:
        terms, only, size = query_terms(query.text), Filter.of(query), self.size(query)
        lists = [keyword_candidates(lease, terms, size, only)]
        if len(lists[0]) == size:
            lists.append(named_candidates(lease, query.text, _NAMED, only))
        if self._is_mixed(query):
            lists.append(keyword_candidates(lease, terms, _NOTES, Filter.of(_of_notes(query))))
        days = asked_days(query.text[:MAX_QUERY_CHARS], query.today)[:_SPANS]
        lists += [dated_candidates(lease, asked, _DATED, only) for asked in days]
        return Words(lists, lease.facts)

    def nearest(self, query: Query, semantics: Semantics) -> Near:
        """Chunks nearest to a query's vector, best first, with their cosines."""
        with self._reader.lease(query.deadline_at) as lease:
            return self._nearest_in(lease, query, semantics.against(lease.facts.embedding))

    def _nearest_in(self, lease: Lease, query: Query, vector: Vectors | None) -> Near:
        if vector is None or not lease.facts.vectors:
            return Near((), {}, lease.facts)
        matrix = self._vectors.matrix(lease)
        found = [matrix.nearest(vector, self.size(query), Filter.of(query).allowed(lease))]
        if self._is_mixed(query):
            found.append(matrix.nearest(vector, _NOTES, Filter.of(_of_notes(query)).allowed(lease)))
        return Near([[number for number, _ in each] for each in found], dict(chain.from_iterable(found)), lease.facts)

    def pool(self, lease: Lease, query: Query, words: Words, near: Near | None, vector: Vectors | None) -> Pool:
        """Both legs together as the index is now, with the cosines of what only the words found."""
        near = near or self._nearest_in(lease, query, vector)
        if not (_holds(lease, words.numbers, words.facts) and _holds(lease, list(near.cosines), near.facts)):
            near = self._nearest_in(lease, query, vector)
            words = self._wanted_words(lease, query)
        if query.mode is Mode.VSEARCH and not near.cosines:
            # Vectors alone were asked for and there are none: keywords are better than nothing, and are told.
            words = self._words_in(lease, query)
        cosines = dict(near.cosines)
        if vector is not None and lease.facts.vectors:
            cosines |= self._vectors.matrix(lease).cosines(vector, words.numbers)
        return Pool(words, near, cosines)

    def chosen(self, query: Query, pool: Pool) -> list[int]:
        """The chunks of both legs in the order of their ranks, none of the lists without its best."""
        lists = [*pool.words.lists, *pool.near.lists]
        return fused(lists, self.size(query) + _NOTES * max(0, len(lists) - 2))

    def _is_mixed(self, query: Query) -> bool:
        """Whether conversations could fill every place of the pool."""
        return self._has_sessions and query.sources == frozenset(Source)


def _holds(lease: Lease, numbers: Sequence[int], facts: Facts) -> bool:
    """Whether chunks that were found in an earlier state of the index are still there.

    Numbers of chunks mean nothing in another file, and those of a changed note are gone.
    """
    if facts is lease.facts or not numbers:
        return True
    if facts.file != lease.facts.file:
        return False
    marks = ",".join("?" * len(numbers))
    sql = f"SELECT count(*) FROM chunks WHERE number IN ({marks})"  # noqa: S608 - only question marks
    return bool(fetch_value(lease.connection, sql, tuple(numbers)) == len(numbers))


def _of_notes(query: Query) -> Query:
    return replace(query, sources=frozenset({Source.MEMORY}))
