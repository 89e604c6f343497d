"""What a sync would have to embed: found out by reading alone, before a provider is asked for anything.

It decides as `indexing` does, by what the index holds and what the configuration asks for.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path

import apsw

from backends.base import BackendError, Failure
from backends.builtin.discovery import Known, compare, known_files
from backends.builtin.embedding_cache import EmbeddingCache, cached_identities
from backends.builtin.identity import Cut, Present
from backends.builtin.intake import UnfitError, chunks_of, decoded, digest_of, read
from backends.builtin.locking import gate
from backends.builtin.need import Tally
from backends.builtin.options import Estimate, IndexJob, Report
from backends.builtin.ownership import APPLICATION_ID, foreign, owner_of
from backends.builtin.schema import DAMAGE, fetch, open_for_reading
from backends.builtin.successor import successor_of
from backends.corpus import Found, Located, Root
from backends.embedding import EmbeddingIdentity, EmbeddingUnavailableError, Expected, expected

_REPORTED_FILES = 256


def estimate(job: IndexJob, report: Report = lambda progress: None) -> Estimate:
    """What a sync would have to embed. Writes nothing, loads no model; `report` hears that it goes on.

    What measures where cosines lie, up to 400 lines, is not in it. Raises `BackendError` for a provider that cannot
    be, and for a file at the index's path that is not ours.
    """
    try:
        whose = expected(job.options.embedding) if job.options.vector_enabled else None
    except EmbeddingUnavailableError as error:
        raise BackendError(Failure.EMBEDDING, error.message, hint=error.hint, code=error.code) from error
    if whose is None:
        return Estimate(provider="none")
    try:
        with ExitStack() as stack:
            opened = [_opened(path, stack) for path in (job.options.index, successor_of(job.options.index))]
            return _Estimating(job, whose, *opened).run(report)
    except (apsw.Error, *DAMAGE, OSError) as error:
        raise BackendError(
            Failure.INDEX_LOST, f"The index cannot be read ({type(error).__name__}).", hint="A sync rebuilds it."
        ) from error


@dataclass(frozen=True, slots=True)
class _Store:
    """An index that is read at one moment."""

    connection: apsw.Connection
    present: Present

    def has_vectors_of(self, whose: Expected) -> bool:
        """Whether its chunks' vectors, if it has any yet, are such."""
        stored = self.present.embedding
        if stored is None:
            return False
        named = {key: stored[key] for key in ("provider", "model", "dims")}
        return whose.fits(EmbeddingIdentity(**named, key=stored.get("key", "")))

    def embedded(self) -> set[str]:
        """The digests of the texts that have a vector in place."""
        return {digest for (digest,) in fetch(self.connection, "SELECT hash FROM chunks WHERE stamp > 0")}


def _opened(path: Path, stack: ExitStack) -> _Store | None:
    """The index at `path`; None where a sync would begin with nothing."""
    if not path.exists() or not path.stat().st_size:
        return None
    try:
        with gate(path):
            connection = stack.enter_context(closing(open_for_reading(path)))
        if connection.pragma("application_id") != APPLICATION_ID:
            raise foreign("a database of another program")
        connection.execute("BEGIN")
        return _Store(connection, Present.of(connection))
    except DAMAGE:
        owner_of(path)
        return None


class _Estimating:
    """One estimate over an index and the successor that may stand half made beside it."""

    def __init__(self, job: IndexJob, whose: Expected, index: _Store | None, half_made: _Store | None) -> None:
        self._job = job
        self._whose = whose
        self._cut = Cut.of(job.options)
        self._index = index
        self._half_made = half_made
        self._recut = bool(index and index.present.is_cut_otherwise(self._cut))
        self._rebuild = self._recut or bool(index and index.present.has_vectors and not index.has_vectors_of(whose))
        self._tally = Tally()
        self._kept = 0

    def run(self, report: Report) -> Estimate:
        """Look at every file that may have changed, and at the rows of all others."""
        known: dict[str, Known] = known_files(self._index.connection) if self._index and not self._recut else {}
        difference = compare(self._job.corpus, known)
        self._count_rows(difference.same)
        for done, (root, found) in enumerate(difference.suspects):
            self._count_file(root, found)
            if done % _REPORTED_FILES == 0:
                report({"phase": "estimate", "done": done, "total": len(difference.suspects)})
        return Estimate(
            provider=self._whose.provider,
            model=self._whose.model,
            hosted=self._whose.hosted,
            rebuild=self._rebuild,
            kept=self._kept,
            **asdict(self._tally.need(self._held)),
        )

    def _count_rows(self, same: frozenset[str]) -> None:
        if self._index is None:
            return
        for path, digest, text, stamp in self._index.connection.execute("SELECT path, hash, text, stamp FROM chunks"):
            if path in same:
                self._count(path, digest, text, has_vector=stamp > 0 and not self._rebuild)

    def _count_file(self, root: Root, found: Found) -> None:
        located = Located(root, found.relative)
        try:
            chunks = chunks_of(decoded(read(located, found)).text, self._cut)
        except (UnfitError, OSError):
            return
        had = self._digests_of(located.path)
        for chunk in chunks:
            digest = digest_of(chunk)
            self._count(located.path, digest, chunk.text, has_vector=digest in had)

    def _digests_of(self, path: str) -> set[str]:
        if self._index is None or self._rebuild:
            return set()
        sql = "SELECT hash FROM chunks WHERE path = ? AND stamp > 0"
        return {digest for (digest,) in fetch(self._index.connection, sql, (path,))}

    def _count(self, path: str, digest: str, text: str, *, has_vector: bool) -> None:
        if has_vector:
            self._kept += 1
        else:
            self._tally.add(path, digest, text)

    def _held(self, digests: Iterable[str]) -> set[str]:
        """Which texts need not be sent, as they or their vectors are carried over."""
        entries = self._job.options.cache_entries
        stores = [store for store in (self._index, self._continued()) if store is not None]
        wanted, found = set(digests), set[str]()
        for store in stores:
            for identity in filter(self._whose.fits, cached_identities(store.connection)):
                found |= EmbeddingCache(store.connection, identity, entries).held(wanted)
            if self._rebuild and entries and store.has_vectors_of(self._whose):
                found |= wanted & store.embedded()
        return found

    def _continued(self) -> _Store | None:
        """The successor that a kill left half made, if it is what is wanted."""
        half = self._half_made
        if half is None or not self._rebuild or half.present.chunking != self._cut.stored():
            return None
        return half if half.has_vectors_of(self._whose) else None
