"""Leaving nothing behind of conversations that are gone: no cached vector, no word, no page, no copy of the index.

`secure_delete` overwrites rows as they go. What is left is what no row stands for any more: vectors in the cache,
words that wait to be merged, pages that were free before, and files beside the index.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import apsw

from backends.builtin.meta import read_meta, write_meta
from backends.builtin.ownership import Owner, discard, owner_of
from backends.builtin.schema import fetch, fetch_value, open_for_reading, require_ours
from backends.builtin.upkeep import forget_words, keep_log_short

LOST: Final = "lost"
"""Of `meta`: digests of texts that left with their files, and whose cached vectors must follow."""
_ASKED_ROWS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """What an index has of something: its chunks, their vectors, and the cached ones of the same texts."""

    chunks: int = 0
    vectors: int = 0
    cached: int = 0


def note_lost(connection: apsw.Connection, digests: Collection[str]) -> None:
    """Remember what left, in the transaction in which it did: a file that was renamed comes again in the same run."""
    if digests:
        write_meta(connection, lost=sorted({*read_meta(connection).get(LOST, ()), *digests}))


def forget_lost(connection: apsw.Connection) -> None:
    """Forget the cached vectors of what left and did not come again."""
    lost = set(read_meta(connection).get(LOST, ()))
    if not lost:
        return
    with connection:
        forget_vectors(connection, lost - {digest for (digest,) in connection.execute("SELECT hash FROM chunks")})
        write_meta(connection, lost=[])


def forget_vectors(connection: apsw.Connection, digests: Collection[str]) -> None:
    """Drop the cached vectors of texts, those of every model."""
    models = fetch(connection, "SELECT DISTINCT provider, model, provider_key FROM embedding_cache") if digests else ()
    connection.executemany(
        "DELETE FROM embedding_cache WHERE provider = ? AND model = ? AND provider_key = ? AND hash = ?",
        [(*model, digest) for model in models for digest in digests],
    )


def still_wanted(connection: apsw.Connection, digests: Collection[str]) -> set[str]:
    """Those of the digests that a chunk without a vector has."""
    return {digest for some in _some(digests) for (digest,) in fetch(connection, _of(some, "stamp = 0"), tuple(some))}


def _some(digests: Collection[str]) -> list[list[str]]:
    each = list(digests)
    return [each[start : start + _ASKED_ROWS] for start in range(0, len(each), _ASKED_ROWS)]


def _of(digests: Collection[str], condition: str) -> str:
    return f"SELECT hash FROM chunks WHERE {condition} AND hash IN ({','.join('?' * len(digests))})"  # noqa: S608


def compact(connection: apsw.Connection) -> None:
    """Make the file anew from what its tables hold, and cut its log. Raises `BackendError(LOCKED)`."""
    connection.execute("DELETE FROM embedding_cache WHERE hash NOT IN (SELECT hash FROM chunks)")
    forget_words(connection)
    connection.execute("VACUUM")
    keep_log_short(connection, most_bytes=0)


def discard_copies(index: Path) -> None:
    """Remove what stands aside of an index since it was damaged. Raises `OSError`."""
    for aside in index.parent.glob(f"{glob.escape(index.name)}.damaged-*"):
        aside.unlink(missing_ok=True)


def discard_index(index: Path) -> None:
    """Remove an index of ours that is in use no more, and its copies. Raises `OSError`, `BackendError`."""
    discard_copies(index)
    if owner_of(index) is not Owner.NOBODY:
        discard(index)


def holdings(index: Path, holds: Callable[[str, str], bool]) -> Holdings:
    """What an index has of conversations for which `holds(file name, text)` is true. Raises like `open_for_reading`."""
    if not index.exists():
        return Holdings()
    require_ours(index)
    with closing(open_for_reading(index)) as connection:
        rows = connection.execute(
            "SELECT relative, text, chunks.hash, stamp FROM chunks JOIN files USING (path)"
            " WHERE chunks.source = 'sessions'"
        )
        found = [(digest, stamp > 0) for relative, text, digest, stamp in rows if holds(relative, text)]
        digests = {digest for digest, _ in found}
        cached = sum(
            fetch_value(connection, "SELECT count(*) FROM embedding_cache WHERE hash = ?", (digest,))
            for digest in digests
        )
    return Holdings(chunks=len(found), vectors=sum(has for _, has in found), cached=cached)
