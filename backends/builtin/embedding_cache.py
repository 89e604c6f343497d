"""Vectors of texts that were embedded before, by model and SHA-256: unchanged text is never embedded twice."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

import apsw

from backends.builtin.schema import fetch, fetch_value
from backends.builtin.upkeep import keep_log_short
from backends.embedding import EmbeddingIdentity

#: Vectors are carried over in transactions of so many.
_CARRIED_ROWS = 5_000


#: Digests are looked up so many at a time.
_ASKED_ROWS = 1_000


def cached_identities(connection: apsw.Connection) -> list[EmbeddingIdentity]:
    """Whose vectors an index has cached."""
    rows = fetch(connection, "SELECT DISTINCT provider, model, provider_key, dims FROM embedding_cache", ())
    return [
        EmbeddingIdentity(provider=provider, model=model, dims=dims, key=key.partition(":")[2])
        for provider, model, key, dims in rows
    ]


def _of(digests: Collection[str]) -> str:
    marks = ",".join("?" * len(digests))
    return f"FROM embedding_cache WHERE provider = ? AND model = ? AND provider_key = ? AND hash IN ({marks})"


class EmbeddingCache:
    """The cached vectors of one model in one index. `most_entries` bounds those of all models; 0 keeps none."""

    def __init__(self, connection: apsw.Connection, identity: EmbeddingIdentity, most_entries: int) -> None:
        self._connection = connection
        self._identity = identity
        self._key = identity.provider, identity.model, f"{identity.dims}:{identity.key}"
        self._most_entries = most_entries

    @property
    def is_on(self) -> bool:
        """Whether anything is kept."""
        return self._most_entries > 0

    def known(self, digests: set[str]) -> dict[str, bytes]:
        """Vectors by digest, of those that are there."""
        if not self._most_entries:
            return {}
        sql = f"SELECT hash, embedding {_of(digests)}"
        return dict(fetch(self._connection, sql, (*self._key, *digests)))

    def held(self, digests: Iterable[str]) -> set[str]:
        """Which of any number of digests have a vector here."""
        if not self._most_entries:
            return set()
        found: set[str] = set()
        wanted = iter(digests)
        while some := tuple(islice(wanted, _ASKED_ROWS)):
            rows = fetch(self._connection, f"SELECT hash {_of(some)}", (*self._key, *some))
            found.update(digest for (digest,) in rows)
        return found

    def remember(self, vectors: Mapping[str, bytes]) -> None:
        """Add vectors by digest."""
        if self._most_entries:
            self._connection.executemany(
                "INSERT OR REPLACE INTO embedding_cache VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(*self._key, digest, blob, self._identity.dims, int(time.time())) for digest, blob in vectors.items()],
            )

    def trim(self) -> None:
        """Let the oldest entries go until the rest is within bounds."""
        entries = fetch_value(self._connection, "SELECT count(*) FROM embedding_cache")
        if entries > self._most_entries:
            self._connection.execute(
                "DELETE FROM embedding_cache WHERE (provider, model, provider_key, hash) IN"
                " (SELECT provider, model, provider_key, hash FROM embedding_cache ORDER BY updated_at LIMIT ?)",
                (entries - self._most_entries,),
            )

    def carry_over(self, other: Path, *, chunks: bool) -> None:
        """Copy what another index has cached, and with `chunks` also its chunks' vectors, which must be our model's.

        Raises `apsw.Error`.
        """
        if not self._most_entries:
            return
        self._connection.execute("ATTACH ? AS other", (str(other),))
        try:
            self._copy("embedding_cache", "provider, model, provider_key, hash, embedding, dims, updated_at", ())
            if chunks:
                values = (*self._key, self._identity.dims)
                self._copy("chunks", "?, ?, ?, hash, embedding, ?, updated_at", values, only=" AND stamp > 0")
        finally:
            self._connection.execute("DETACH other")

    def _copy(self, table: str, columns: str, values: tuple[str | int, ...], only: str = "") -> None:
        for first, last in self._slices(table):
            self._connection.execute(
                f"INSERT OR IGNORE INTO main.embedding_cache SELECT {columns} FROM other.{table}"  # noqa: S608 - our names
                f" WHERE rowid > ? AND rowid <= ?{only}",
                (*values, first, last),
            )
            keep_log_short(self._connection)

    def _slices(self, table: str) -> Iterator[tuple[int, int]]:
        first = -1
        sql = f"SELECT max(rowid) FROM (SELECT rowid FROM other.{table} WHERE rowid > ? ORDER BY rowid LIMIT ?)"  # noqa: S608
        while (last := fetch_value(self._connection, sql, (first, _CARRIED_ROWS))) is not None:
            yield first, last
            first = last
