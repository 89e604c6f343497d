"""The keyword leg: chunks that hold the rarest words of a query, best BM25 first.

Any word may match, and all of them are scored later by `backends.relevance`. Common words touch most rows and
decide little, so matching stops at a budget of rows, counted from the rarest word up.
"""

from __future__ import annotations

from collections.abc import Sequence

from backends.builtin.filters import Filter
from backends.builtin.reader import Lease
from backends.text.asked_days import AskedDays
from backends.text.tokens import Term

#: About how many rows the words that are matched may touch together.
ROW_BUDGET = 2_500


def keyword_candidates(lease: Lease, terms: Sequence[Term], limit: int, only: Filter) -> list[int]:
    """Numbers of at most `limit` chunks, best first."""
    match = _match(lease, terms)
    if not match:
        return []
    # The plus keeps the planner from running the match anew for every chunk that passes the filter.
    rows = lease.connection.execute(
        f"SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?{only.sql('+rowid')}"  # noqa: S608 - no outside text
        " ORDER BY bm25(chunks_fts) LIMIT ?",
        (match, *only.values, limit),
    )
    return [number for (number,) in rows]


def dated_candidates(lease: Lease, asked: AskedDays, limit: int, only: Filter) -> list[int]:
    """Numbers of at most `limit` chunks of files of the asked days, the beginnings of files first."""
    rows = lease.connection.execute(
        "SELECT chunks.number FROM chunks JOIN files USING (path)"  # noqa: S608 - no outside text
        f" WHERE files.day BETWEEN ? AND ?{only.sql('chunks.number')}"
        " ORDER BY chunks.start_line > 1, files.day DESC, chunks.number LIMIT ?",
        (asked.first.isoformat(), asked.last.isoformat(), *only.values, limit),
    )
    return [number for (number,) in rows]


def _match(lease: Lease, terms: Sequence[Term]) -> str:
    """An FTS5 expression of quoted phrases; the words of an identifier also stand together as one phrase."""
    phrases: dict[str, int] = {}
    for term in terms:
        rows = [lease.frequency(key) for key in term.keys]
        phrases |= {_quoted(key): count for key, count in zip(term.keys, rows, strict=True) if count}
        if len(rows) > 1 and all(rows):
            phrases[_quoted(" ".join(term.keys))] = min(rows)
    chosen: list[str] = []
    left = ROW_BUDGET
    for phrase, count in sorted(phrases.items(), key=lambda item: item[1]):
        if chosen and count > left:
            break
        chosen.append(phrase)
        left -= count
    return " OR ".join(chosen)


def _quoted(phrase: str) -> str:
    return '"' + phrase.replace('"', '""') + '"'
