"""What changed on disk since an index was written: names, times and sizes only, no file is opened."""

from __future__ import annotations

import time
from collections.abc import Container, Mapping
from dataclasses import dataclass

from backends.base import Pending
from backends.corpus import Corpus, Found, Located, Root


@dataclass(frozen=True, slots=True)
class Known:
    """A file as the index holds it."""

    mtime_ns: int
    size: int


@dataclass(frozen=True, slots=True)
class Difference:
    """`suspects` may have changed (time or size differ), `gone` are shown paths, `same` is a count."""

    suspects: tuple[tuple[Root, Found], ...]
    gone: tuple[str, ...]
    same: int

    def pending(self, skipped: Container[str] = ()) -> Pending:
        """The difference as what a search does not know yet; files that cannot be indexed are waiting for nothing."""
        waiting = [found for root, found in self.suspects if Located(root, found.relative).path not in skipped]
        oldest_s = max((time.time() - found.mtime_ns / 1e9 for found in waiting), default=0.0)
        return Pending(files=len(waiting) + len(self.gone), oldest_s=max(0.0, oldest_s))


def compare(corpus: Corpus, known: Mapping[str, Known]) -> Difference:
    """Walk the corpus and hold it against what the index knows."""
    suspects: list[tuple[Root, Found]] = []
    present: set[str] = set()
    for root, found in corpus.files():
        shown = Located(root, found.relative).path
        present.add(shown)
        if known.get(shown) != Known(found.mtime_ns, found.size):
            suspects.append((root, found))
    gone = tuple(path for path in known if path not in present)
    return Difference(tuple(suspects), gone, len(present) - len(suspects))
