"""The one cutter of passages: from places that an engine points at to the lines that answer, read back from disk.

What an engine remembers of a place decides where it is worth looking, and is scored; what is shown is read from the
file, and scored anew where the file says something else by now. Passages are taken greedily and never overlap.
Taking does not look at how many are wanted, so a longer list starts with the shorter one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from backends.base import Hit, Query, Source
from backends.corpus import Located, read_text
from backends.dates import day_of_file, in_range
from backends.passages.candidates import Candidate, prospects
from backends.passages.file import MAX_FILE_BYTES, Asked
from backends.passages.media import media_hits, merged
from backends.passages.ordering import MMR_CANDIDATES, Ranking, diverse
from backends.passages.shelf import Shelf
from backends.relevance import Question, SampleStatistics, Statistics

_NOT_READ = ("otherSource", "otherDays", "gone")


@dataclass(frozen=True, slots=True)
class Assembled:
    """The hits of a search, and why files gave none: counts by reason, whole where the query wants an explanation."""

    hits: list[Hit]
    files: int
    left_out: Counter[str]

    @property
    def below_min_score(self) -> int:
        """Why there is no hit: the files that were read and hold nothing relevant enough; 0 where there are hits."""
        if self.hits:
            return 0
        return self.files - sum(self.left_out[why] for why in _NOT_READ)

    def explained(self) -> dict[str, Any]:
        """How many files were looked at, and how many of them gave no hit for which reason, JSON-ready."""
        return {"candidateFiles": self.files, "leftOut": dict(self.left_out)}


def assemble(
    candidates: Sequence[Candidate],
    query: Query,
    statistics: Statistics | None,
    ranking: Ranking,
) -> Assembled:
    """The best passages of the candidates, best first, at most `query.max_results` and none below `query.min_score`.

    Files that are gone or unreadable are dropped. Without `statistics` the texts at hand are counted.
    Synchronous and thread-safe; it reads files, so it has no place on the event loop.
    """
    by_file: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        # Of conversations that are not shown not even a count leaves: it would tell what others talk about.
        if query.shows(candidate.located.root.kind, candidate.located.relative):
            by_file.setdefault(candidate.located.path, []).append(candidate)
    left_out: Counter[str] = Counter()
    groups = [group for group in by_file.values() if _wanted(group[0].located, query, left_out)]
    media = [group[0] for group in groups if group[0].located.root.media]
    groups = [group for group in groups if not group[0].located.root.media]
    texts = _texts(groups) if statistics is None else {}
    statistics = statistics or SampleStatistics.of(texts.values())
    asked = Asked(query, Question(query.text, statistics, query.today), ranking)
    shelf = Shelf(prospects(groups, asked, texts), asked, left_out)
    hits = shelf.hits_with_room() if query.sources == frozenset(Source) else shelf.hits()
    both_legs = asked.by_words and any(candidate.vector_score is not None for candidate in candidates)
    passages = _diverse(hits, ranking.mmr_lambda) if both_legs else hits
    silent: Counter[str] = Counter()
    chosen = list(islice(merged(passages, media_hits(media, asked, silent)), query.max_results))
    if query.explain:
        shelf.count_silent(chosen)
        silent["lowerThanTheHits"] += len(media) - silent.total() - sum(hit.media is not None for hit in chosen)
        left_out.update(silent)
    return Assembled(chosen, len(by_file), left_out)


def _diverse(hits: Iterator[Hit], weight: float | None) -> Iterator[Hit]:
    if weight is None:
        yield from hits
        return
    pool = list(islice(hits, MMR_CANDIDATES))
    order = diverse([hit.snippet for hit in pool], [hit.score for hit in pool], weight)
    yield from (pool[at] for at in order)
    yield from hits


def _wanted(located: Located, query: Query, left_out: Counter[str]) -> bool:
    """Whether the query's sources and dates let a file in."""
    source = Source.of(located.root.kind)
    if source not in query.sources:
        left_out["otherSource"] += 1
        return False
    if query.after is None and query.before is None:
        return True
    inside = in_range(day_of_file(located), query.after, query.before)
    left_out["otherDays"] += not inside
    return inside


def _texts(groups: Iterable[Sequence[Candidate]]) -> dict[str, str]:
    """The texts of the files by shown path, without those that are gone or unreadable."""
    texts: dict[str, str] = {}
    for group in groups:
        with suppress(OSError):
            texts[group[0].located.path] = read_text(group[0].located, max_bytes=MAX_FILE_BYTES)
    return texts
