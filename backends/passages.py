"""The one cutter of passages: from places that an engine points at to the lines that answer, read back from disk.

Every candidate file is read once. Windows of whole lines around the words of the query are scored with
`relevance`, taken best first, widened to the limit, and never overlap. Taking is greedy and does not look at
how many are wanted, so a longer list starts with the shorter one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from backends.base import Hit, Mode, Query, Source
from backends.corpus import Kind, Located, mtime_ns, read_text, split_lines
from backends.dates import day_of, in_range
from backends.lines import Lines, spans
from backends.relevance import Question, SampleStatistics, Statistics, Weights, blend, keyword_score
from backends.tokens import normalize
from backends.windows import Mark, Sheet, Window, marks

#: Files beyond this size are not memory: the indexer lists them as skipped, and reading stops there.
MAX_FILE_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A place that an engine points at: a file, or some lines of it (1-based, inclusive).

    `vector_score` is the relevance of the vector leg in 0..1, None where that leg did not see the place. `preview` is
    the text of the lines as the engine remembers it: it never reaches a hit, it only tells which files cannot answer
    better than those that were read, so that they need not be.
    """

    located: Located
    start_line: int | None = None
    end_line: int | None = None
    vector_score: float | None = None
    preview: str | None = None


def assemble(
    candidates: Sequence[Candidate], query: Query, statistics: Statistics | None, weights: Weights
) -> list[Hit]:
    """The best passages of the candidates, best first, at most `query.max_results` and none below `query.min_score`.

    Files that are gone or unreadable are dropped. Without `statistics` the texts at hand are counted.
    Synchronous and thread-safe; it reads files, so it has no place on the event loop.
    """
    by_file: dict[str, list[tuple[int, Candidate]]] = {}
    for order, candidate in enumerate(candidates):
        by_file.setdefault(candidate.located.path, []).append((order, candidate))
    groups = {path: group for path, group in by_file.items() if _wanted(group[0][1].located, query)}
    texts: dict[str, str] = {}
    if statistics is None:
        texts = {path: _read(group[0][1].located) or "" for path, group in groups.items()}
        statistics = SampleStatistics.of(texts.values())
    question = Question(query.text, statistics)
    pages = [_Page(group, question, query, weights, texts.get(path)) for path, group in groups.items()]
    return list(_take(pages, query))


class _Passage:
    """A window with its scores. Best first; between equals the engine's own order decides."""

    __slots__ = ("order", "page", "score", "text_score", "vector_score", "window")

    def __init__(
        self, page: _Page, window: Window, score: float, text_score: float | None, vector_score: float | None
    ) -> None:
        self.page = page
        self.window = window
        self.score = score
        self.text_score = text_score
        self.vector_score = vector_score
        self.order = (-score, page.order_of(window), window.first)

    def __lt__(self, other: _Passage) -> bool:
        return self.order < other.order


@dataclass(frozen=True, slots=True)
class _Region:
    first: int
    last: int
    vector_score: float | None
    order: int


class _Page:
    """One file in one search: its regions, and the lines that were shown already. Read when its turn comes."""

    def __init__(
        self,
        candidates: list[tuple[int, Candidate]],
        question: Question,
        query: Query,
        weights: Weights,
        text: str | None,
    ) -> None:
        first, candidate = candidates[0]
        self.located = candidate.located
        self.taken: set[int] = set()
        self._candidates = candidates
        self._question = question
        self._weights = weights
        self._words = query.mode is not Mode.VSEARCH
        self._name = question.name_shares(self.located.relative.rpartition(".")[0])
        self._max_chars = query.max_chars
        self._text = text
        self.sheets: list[Sheet]
        self.regions: list[_Region]
        self._preview = self._joined()
        self.exact = self._preview is None
        #: Nothing in this file comes before that, as far as the engine knows the file.
        self.order = (-1.0, first, 0)
        if self._preview is not None:
            self._limit(question.ceiling(self._preview, self._name))

    def __lt__(self, other: _Page) -> bool:
        return self.order < other.order

    def _limit(self, text_score: float) -> None:
        vectors = [candidate.vector_score for _, candidate in self._candidates if candidate.vector_score is not None]
        score = blend(text_score if self._words else None, max(vectors, default=None), self._weights)
        self.order = (-score, self.order[1], 0)

    def _joined(self) -> str | None:
        """What the engine remembers of the regions, None when it does not know all of them."""
        previews = [candidate.preview for _, candidate in self._candidates if candidate.preview is not None]
        if len(previews) < len(self._candidates):
            return None
        return normalize(previews[0] if len(previews) == 1 else "\n".join(previews))

    def refine(self) -> None:
        """Replace the cheap bound by the exact score of all that is remembered, still cheaper than reading."""
        found = self._question.occurrences(self._preview or "")
        self._limit(keyword_score(self._question, found, self._name))
        self.exact = True

    def read(self) -> list[_Passage]:
        """Read the file and give the windows around words, and the beginning of what was found by meaning alone.

        None for a file that is gone.
        """
        text = _read(self.located) if self._text is None else self._text
        lines = Lines(text or "")
        self.regions = list(_regions(self._candidates, lines.count))
        found = self._marks(lines)
        heads = list(self._unmarked(found))
        self.sheets = self._cut(lines, [mark.line for mark in found] + [region.first for region in heads])
        return [*self._around(found), *(self.scored(self._head(region)) for region in heads)]

    def _marks(self, lines: Lines) -> list[Mark]:
        stretches = spans([(region.first, region.last) for region in self.regions])
        return [mark for span in stretches for mark in marks(self._question, lines.text(*span), span[0])]

    def _unmarked(self, found: list[Mark]) -> Iterator[_Region]:
        """Regions that were found by meaning alone."""
        marked = sorted({mark.line for mark in found})
        for region in self.regions:
            at = bisect_left(marked, region.first)
            if region.vector_score is not None and not (at < len(marked) and marked[at] <= region.last):
                yield region

    def _cut(self, lines: Lines, wanted: list[int]) -> list[Sheet]:
        """The lines around those that matter. A window is never longer than `max_chars`, so never reaches farther."""
        reach = self._max_chars
        stretches = spans([(max(1, line - reach), min(lines.count, line + reach)) for line in wanted])
        return [Sheet(split_lines(lines.text(*span)), self._max_chars, span[0]) for span in stretches]

    def _around(self, found: list[Mark]) -> Iterator[_Passage]:
        lines = [mark.line for mark in found]
        for sheet in self.sheets:
            here = found[bisect_left(lines, sheet.first) : bisect_right(lines, sheet.last)]
            yield from (self.scored(window) for window in sheet.around(self._question, here))

    def _head(self, region: _Region) -> Window:
        sheet = self._sheet(region.first)
        return sheet.head(region.first, min(region.last, sheet.last))

    def _sheet(self, line: int) -> Sheet:
        return next(sheet for sheet in self.sheets if sheet.first <= line <= sheet.last)

    def rest(self, window: Window) -> Iterator[_Passage]:
        """What is left of a window outside the lines that were shown."""
        return self._around([mark for mark in window.marks if mark.line not in self.taken])

    def scored(self, window: Window) -> _Passage:
        """A window with its scores; the vector part is that of the best region it lies in."""
        text = keyword_score(self._question, window.found, self._name) if self._words else None
        near = self._around_lines(window)
        vector = max((region.vector_score for region in near if region.vector_score is not None), default=None)
        return _Passage(self, window, blend(text, vector, self._weights), text, vector)

    def order_of(self, window: Window) -> int:
        """Where the engine put the window's region."""
        return min(region.order for region in self._around_lines(window))

    def _around_lines(self, window: Window) -> list[_Region]:
        return [region for region in self.regions if region.first <= window.last and window.first <= region.last]

    def show(self, passage: _Passage) -> Hit:
        """Take the lines of a passage, widened to the limit, and make it a hit."""
        sheet = self._sheet(passage.window.first)
        window = sheet.widen(passage.window, self.taken)
        self.taken.update(range(window.first, window.last + 1))
        root = self.located.root
        return Hit(
            root=root.name,
            relative=self.located.relative,
            path=self.located.path,
            kind=root.kind,
            trusted=root.trusted,
            start_line=window.first,
            end_line=window.last,
            snippet=sheet.text(window),
            score=passage.score,
            text_score=passage.text_score,
            vector_score=passage.vector_score,
            partial=window.cut is not None,
        )


def _take(pages: list[_Page], query: Query) -> Iterator[Hit]:
    """Best first. A file is read once nothing found so far is surely better than what it may hold."""
    unread = list(pages)
    heapify(unread)
    found: list[_Passage] = []
    left = query.max_results
    while left > 0 and (found or unread):
        if unread and (not found or unread[0].order <= found[0].order):
            page = heappop(unread)
            if not page.exact:
                page.refine()
                heappush(unread, page)
                continue
            for passage in page.read():
                heappush(found, passage)
            continue
        passage = heappop(found)
        if passage.score < query.min_score or passage.score <= 0:
            return
        if passage.window.touches(passage.page.taken):
            # Its surroundings were shown meanwhile: what is left is scored again and put back.
            for rest in passage.page.rest(passage.window):
                heappush(found, rest)
        else:
            left -= 1
            yield passage.page.show(passage)


def _regions(candidates: list[tuple[int, Candidate]], lines: int) -> Iterator[_Region]:
    for order, candidate in candidates:
        first = max(1, candidate.start_line or 1)
        last = min(lines, candidate.end_line or lines)
        if first <= last:
            yield _Region(first, last, candidate.vector_score, order)


def _wanted(located: Located, query: Query) -> bool:
    """Whether the query's sources and dates let a file in."""
    source = Source.SESSIONS if located.root.kind is Kind.SESSION else Source.MEMORY
    if source not in query.sources:
        return False
    if query.after is None and query.before is None:
        return True
    try:
        mtime_s = mtime_ns(located.file.stat()) / 1e9
    except OSError:
        return False
    return in_range(day_of(located.relative, located.root.kind, mtime_s), query.after, query.before)


def _read(located: Located) -> str | None:
    try:
        return read_text(located, max_bytes=MAX_FILE_BYTES)
    except OSError:
        return None
