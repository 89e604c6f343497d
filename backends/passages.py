"""The one cutter of passages: from places that an engine points at to the lines that answer, read back from disk.

Every candidate file is read once. Windows of whole lines around the words of the query are scored with
`relevance`, taken best first, widened to the limit, and never overlap. Taking is greedy and does not look at
how many are wanted, so a longer list starts with the shorter one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from pathlib import PurePosixPath

from backends.base import Hit, Mode, Query, Source
from backends.corpus import Kind, Located, read_text, split_lines
from backends.dates import day_of, in_range
from backends.relevance import Question, SampleStatistics, Statistics, Weights, blend, keyword_score
from backends.windows import Mark, Sheet, Window

#: Files beyond this size are not memory: the indexer lists them as skipped, and reading stops there.
MAX_FILE_BYTES = 8 * 1024 * 1024
# A second passage of a region shares the region's one vector, which speaks for the first.
_REPEAT_FACTOR = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A place that an engine points at: a file, or some lines of it (1-based, inclusive).

    `vector_score` is the relevance of the vector leg in 0..1, None where that leg did not see the place.
    """

    located: Located
    start_line: int | None = None
    end_line: int | None = None
    vector_score: float | None = None


def assemble(
    candidates: Sequence[Candidate], query: Query, statistics: Statistics | None, weights: Weights
) -> list[Hit]:
    """The best passages of the candidates, best first, at most `query.max_results` and none below `query.min_score`.

    Files that are gone or unreadable are dropped. Without `statistics` the texts at hand are counted.
    Synchronous and thread-safe; it reads files, so it has no place on the event loop.
    """
    by_file: dict[tuple[str, str], list[Candidate]] = {}
    for candidate in candidates:
        by_file.setdefault((candidate.located.root.name, candidate.located.relative), []).append(candidate)
    texts = {place: text for place, group in by_file.items() if (text := _read(group[0].located, query)) is not None}
    question = Question(query.text, statistics or SampleStatistics.of(texts.values()))
    heap: list[_Passage] = []
    for place, text in texts.items():
        heap += _Page(text, by_file[place], question, query, weights).passages()
    return list(_take(heap, query))


@dataclass(slots=True)
class _Passage:
    """A window with its scores, ordered best first and then by place, so that ties are stable."""

    page: _Page
    window: Window
    score: float
    text_score: float | None
    vector_score: float | None
    repeats: int

    def __lt__(self, other: _Passage) -> bool:
        return self._rank() < other._rank()

    def _rank(self) -> tuple[float, int, str, int]:
        return (-self.score, -len(self.window.marks), self.page.located.path, self.window.first)


@dataclass(slots=True)
class _Region:
    first: int
    last: int
    vector_score: float | None
    shown: int = 0


class _Page:
    """One file in one search: its regions, and the lines that were shown already."""

    def __init__(
        self, text: str, candidates: list[Candidate], question: Question, query: Query, weights: Weights
    ) -> None:
        self.located = candidates[0].located
        self.sheet = Sheet(split_lines(text), query.max_chars)
        self.regions = list(_regions(candidates, len(self.sheet.lines)))
        self.taken: set[int] = set()
        self._question = question
        self._weights = weights
        self._words = query.mode is not Mode.VSEARCH
        self._name = question.name_shares(str(PurePosixPath(self.located.relative).with_suffix("")))

    def passages(self) -> Iterator[_Passage]:
        """Every window worth scoring."""
        marks = [mark for span in _spans(self.regions) for mark in self.sheet.marks(self._question, *span)]
        yield from self._around(marks)
        marked = {mark.line for mark in marks}
        for region in self.regions:
            if region.vector_score is not None and marked.isdisjoint(range(region.first, region.last + 1)):
                yield self.scored(self.sheet.head(region.first, region.last))

    def _around(self, marks: list[Mark]) -> Iterator[_Passage]:
        return (self.scored(window) for window in self.sheet.around(marks))

    def rest(self, window: Window) -> Iterator[_Passage]:
        """What is left of a window outside the lines that were shown."""
        return self._around([mark for mark in window.marks if mark.line not in self.taken])

    def scored(self, window: Window) -> _Passage:
        """Score a window with what is known now about its regions."""
        text = keyword_score(self._question, window.found, self._name) if self._words else None
        regions = [region for region in self.regions if region.first <= window.last and window.first <= region.last]
        vectors = [
            region.vector_score * _REPEAT_FACTOR**region.shown for region in regions if region.vector_score is not None
        ]
        vector = max(vectors, default=None)
        return _Passage(self, window, blend(text, vector, self._weights), text, vector, self.repeats(window))

    def repeats(self, window: Window) -> int:
        """How many passages of the window's regions were shown."""
        return sum(
            region.shown for region in self.regions if region.first <= window.last and window.first <= region.last
        )

    def show(self, passage: _Passage) -> Hit:
        """Take the lines of a passage, widened to the limit, and make it a hit."""
        window = self.sheet.widen(passage.window, self.taken)
        self.taken.update(range(window.first, window.last + 1))
        for region in self.regions:
            region.shown += region.first <= passage.window.last and passage.window.first <= region.last
        root = self.located.root
        return Hit(
            root=root.name,
            relative=self.located.relative,
            path=self.located.path,
            kind=root.kind,
            trusted=root.trusted,
            start_line=window.first,
            end_line=window.last,
            snippet=self.sheet.text(window),
            score=passage.score,
            text_score=passage.text_score,
            vector_score=passage.vector_score,
            partial=window.cut is not None,
        )


def _take(heap: list[_Passage], query: Query) -> Iterator[Hit]:
    """Best first. A window whose surroundings were shown meanwhile is cut, scored again and put back."""
    heapify(heap)
    left = query.max_results
    while heap and left > 0:
        passage = heappop(heap)
        if passage.score < query.min_score or passage.score <= 0:
            return
        page, window = passage.page, passage.window
        if window.touches(page.taken):
            for rest in page.rest(window):
                heappush(heap, rest)
        elif passage.repeats != page.repeats(window):
            heappush(heap, page.scored(window))
        else:
            left -= 1
            yield page.show(passage)


def _regions(candidates: list[Candidate], lines: int) -> Iterator[_Region]:
    for candidate in candidates:
        first = max(1, candidate.start_line or 1)
        last = min(lines, candidate.end_line or lines)
        if first <= last:
            yield _Region(first, last, candidate.vector_score)


def _spans(regions: list[_Region]) -> list[tuple[int, int]]:
    """The regions as disjoint spans of lines, so that no line is searched twice."""
    spans: list[tuple[int, int]] = []
    for region in sorted(regions, key=lambda region: region.first):
        if spans and region.first <= spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], max(spans[-1][1], region.last))
        else:
            spans.append((region.first, region.last))
    return spans


def _read(located: Located, query: Query) -> str | None:
    source = Source.SESSIONS if located.root.kind is Kind.SESSION else Source.MEMORY
    if source not in query.sources:
        return None
    try:
        if not _dated(located, query):
            return None
        return read_text(located, max_bytes=MAX_FILE_BYTES)
    except OSError:
        return None


def _dated(located: Located, query: Query) -> bool:
    if query.after is None and query.before is None:
        return True
    day = day_of(located.relative, located.root.kind, located.file.stat().st_mtime)
    return in_range(day, query.after, query.before)
