"""The files of the days that a query asks for.

qmd knows no days: of a word that a whole year of notes holds it names the best twenty files, and those of the wanted
week may not be among them. The names of the files say their days, so they are looked at themselves.
"""

from __future__ import annotations

from datetime import date
from heapq import nlargest

from backends.base import Mode, Query, Source
from backends.corpus import Corpus, Located
from backends.dates import day_of, in_range

#: So many files are read for one search. Of more, the newest are: the older are left to what qmd names.
MOST_FILES = 200


def files_of(corpus: Corpus, query: Query) -> list[Located]:
    """Files of the query's sources and days, newest day first; none where it names no days. Looks at the disk."""
    if (query.after is None and query.before is None) or query.mode is Mode.VSEARCH:
        return []
    dated: list[tuple[date, str, Located]] = []
    for root, found in corpus.files():
        source = Source.of(root.kind)
        day = day_of(found.relative, root.kind, found.mtime_ns / 1e9)
        if source in query.sources and day is not None and in_range(day, query.after, query.before):
            dated.append((day, found.relative, Located(root, found.relative)))
    return [located for _, _, located in nlargest(MOST_FILES, dated, key=lambda entry: entry[:2])]
