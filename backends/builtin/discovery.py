"""What changed on disk since an index was written: names, times and sizes only, no file is opened."""

from __future__ import annotations

import time
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import apsw

from backends.base import Pending
from backends.corpus import Corpus, Found, Root


class Known(NamedTuple):
    """A file as the index holds it."""

    mtime_ns: int
    size: int
    root: str


def known_files(connection: apsw.Connection) -> dict[str, Known]:
    """Every file of an index by its shown path."""
    rows = connection.execute("SELECT path, mtime, size, root FROM files")
    return {path: Known(*seen) for path, *seen in rows}


@dataclass(frozen=True, slots=True)
class Difference:
    """`suspects` may have changed (time, size or root differ), `gone` and `same` are shown paths.

    `refused` are files that can never be memory because of their names, as printable paths with the reason.
    """

    suspects: tuple[tuple[Root, Found], ...]
    gone: tuple[str, ...]
    same: frozenset[str]
    refused: Mapping[str, str] = field(default_factory=dict)

    def pending(self, skipped: Container[str] = ()) -> Pending:
        """The difference as what a search does not know yet; files that cannot be indexed are waiting for nothing."""
        waiting = [found for root, found in self.suspects if root.shown + found.relative not in skipped]
        oldest_s = max((time.time() - found.mtime_ns / 1e9 for found in waiting), default=0.0)
        return Pending(files=len(waiting) + len(self.gone), oldest_s=max(0.0, oldest_s))


def compare(corpus: Corpus, known: Mapping[str, Known]) -> Difference:
    """Walk the corpus and hold it against what the index knows."""
    suspects: list[tuple[Root, Found]] = []
    refused: dict[str, str] = {}
    same: set[str] = set()
    gone = set(known)
    for root, found in corpus.files(refused.__setitem__):
        shown = root.shown + found.relative
        gone.discard(shown)
        if known.get(shown) == (found.mtime_ns, found.size, root.name):
            same.add(shown)
        else:
            suspects.append((root, found))
    return Difference(tuple(suspects), tuple(sorted(gone)), frozenset(same), refused)
