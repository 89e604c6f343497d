"""The keyword leg: chunks that hold the rarest words of a query, best BM25 first.

Any word may match, and all of them are scored later by `backends.relevance`. Common words touch most rows and
decide little, so matching stops at a budget of rows, counted from the rarest word up.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from backends.builtin.filters import Filter
from backends.builtin.reader import Lease
from backends.passages.file import name_in
from backends.text.asked_days import AskedDays
from backends.text.tokens import Term, index_terms, is_dense

#: About how many rows the words that are matched may touch together.
ROW_BUDGET = 2_500
#: A longer question is the name of no file, or of one that its words find anyway.
_MAX_NAME_CHARS = 255
_MAX_NAME_WORDS = 8


def keyword_candidates(lease: Lease, terms: Sequence[Term], limit: int, only: Filter) -> list[int]:
    """Numbers of at most `limit` chunks, best first."""
    phrases = _phrases(lease, terms)
    chosen = _rarest(phrases)
    found = _matching(lease, chosen, limit, only)
    if only.condition and len(found) < limit and len(chosen) < len(phrases):
        # The rare words may stand only where the query does not look.
        found = _matching(lease, list(phrases), limit, only)
    return found


def _matching(lease: Lease, phrases: Sequence[str], limit: int, only: Filter) -> list[int]:
    if not phrases:
        return []
    # The plus keeps the planner from running the match anew for every chunk that passes the filter.
    rows = lease.connection.execute(
        f"SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?{only.sql('+rowid')}"  # noqa: S608 - no outside text
        " ORDER BY bm25(chunks_fts) LIMIT ?",
        (" OR ".join(phrases), *only.values, limit),
    )
    return [number for (number,) in rows]


def named_candidates(lease: Lease, text: str, limit: int, only: Filter) -> list[int]:
    """The first chunks of at most `limit` files of which the question is the name, with or without its ending."""
    asked = name_in(text)
    name = _pattern(asked)
    # The first chunk of a file holds the words of its name: few chunks hold all of them, and only these are looked at.
    words = dict.fromkeys(index_terms(asked.rpartition("/")[2].removesuffix(".md")))
    if not name.strip("%") or len(name) > _MAX_NAME_CHARS or not 0 < len(words) <= _MAX_NAME_WORDS:
        return []
    rows = lease.connection.execute(
        "SELECT min(chunks.number) FROM chunks_fts JOIN chunks ON chunks.number = chunks_fts.rowid"  # noqa: S608
        " WHERE chunks_fts MATCH ? AND ('/' || chunks.path LIKE ? OR '/' || chunks.path LIKE ?)"
        f"{only.sql('chunks.number')} GROUP BY chunks.path ORDER BY length(chunks.path), chunks.path LIMIT ?",
        (" AND ".join(map(_quoted, words)), f"%/{name}", f"%/{name}.%", *only.values, limit),
    )
    return [number for (number,) in rows]


def _pattern(name: str) -> str:
    """A name for LIKE, which knows the case of ASCII alone: any other letter may be written in several ways."""
    letters = [letter if letter in "./-" or _is_written_alike(letter) else "%" for letter in name]
    return re.sub("%+", "%", "".join(letters))


def _is_written_alike(letter: str) -> bool:
    return letter.isalnum() and (letter.isascii() or is_dense(letter)) and unicodedata.is_normalized("NFKD", letter)


def dated_candidates(lease: Lease, asked: AskedDays, limit: int, only: Filter) -> list[int]:
    """Numbers of at most `limit` chunks of files of the asked days, the beginnings of files first."""
    rows = lease.connection.execute(
        "SELECT chunks.number FROM chunks JOIN files USING (path)"  # noqa: S608 - no outside text
        f" WHERE files.day BETWEEN ? AND ?{only.sql('chunks.number')}"
        " ORDER BY chunks.start_line > 1, files.day DESC, chunks.number LIMIT ?",
        (asked.first.isoformat(), asked.last.isoformat(), *only.values, limit),
    )
    return [number for (number,) in rows]


def _phrases(lease: Lease, terms: Sequence[Term]) -> dict[str, int]:
    """FTS5 phrases with how many rows they touch; the words of an identifier also stand together as one."""
    phrases: dict[str, int] = {}
    for term in terms:
        rows = [lease.frequency(key) for key in term.keys]
        phrases |= {_quoted(key): count for key, count in zip(term.keys, rows, strict=True) if count}
        if len(rows) > 1 and all(rows):
            phrases[_quoted(" ".join(term.keys))] = min(rows)
    return phrases


def _rarest(phrases: Mapping[str, int]) -> list[str]:
    chosen: list[str] = []
    left = ROW_BUDGET
    for phrase, count in sorted(phrases.items(), key=lambda item: item[1]):
        if chosen and count > left:
            break
        chosen.append(phrase)
        left -= count
    return chosen


def _quoted(phrase: str) -> str:
    return '"' + phrase.replace('"', '""') + '"'
