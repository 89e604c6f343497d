"""Conversations that others, which the caller may not see, may have displaced.

qmd knows no callers: of a word that every conversation holds it names the best two dozen, and those that may be seen
may not be among them. They are few, so they are looked at themselves.
"""

from __future__ import annotations

from contextlib import suppress
from heapq import nlargest

from backends.base import Mode, Query
from backends.corpus import Corpus, Kind, Located
from backends.qmd.locating import Places

#: So many files are read for one search. Of more, those that were written last: the others are left to what qmd names.
MOST_FILES = 200


def displaced(corpus: Corpus, query: Query, places: Places) -> list[Located]:
    """The conversations that a query may see, newest first; none where qmd named no others. Looks at the disk."""
    if query.sessions is None or query.mode is Mode.VSEARCH:
        return []
    if all(query.shows(located.root.kind, located.relative) for _, located in places.found):
        return []
    written: list[tuple[float, str, Located]] = []
    for root in corpus.roots:
        for relative in query.sessions if root.kind is Kind.SESSION else ():
            located = Located(root, relative)
            with suppress(OSError):
                written.append((located.file.lstat().st_mtime, relative, located))
    return [located for _, _, located in nlargest(MOST_FILES, written, key=lambda entry: entry[:2])]
