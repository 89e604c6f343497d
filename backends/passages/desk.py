"""The files of one search, laid side by side: every window of their lines scored at once, and taken best first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from backends.passages.file import Asked, File
from backends.passages.meaning import Place, SheetMeaning
from backends.passages.ordering import LOWEST_FACTOR, Statement
from backends.passages.windows import NEAR_LINES, Flags, Rows, Sheet, Spans
from backends.relevance import Floats, blend, keyword_parts
from backends.text.annotations import importances


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive lines of a file from number `first` on, with the places that an engine pointed at among them."""

    file: File
    first: int
    lines: Sequence[str]
    places: Sequence[Place]


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines `first..last` of a file. `rank` is what they are ordered by, `score` their relevance without `factor`.

    `words` and `marked`, the lines on which they stand, are left out unless the query wants an explanation.
    """

    file: File
    first: int
    last: int
    lines: Sequence[str]
    cut: tuple[int, int] | None
    rank: float
    score: float
    text_score: float | None
    vector_score: float | None
    factor: float
    words: tuple[str, ...]
    marked: tuple[int, ...]


class Desk:
    """Stretches side by side, with a score for every window of them that was not shown yet."""

    def __init__(self, stretches: Sequence[Stretch], asked: Asked) -> None:
        self._asked = asked
        self._stretches = stretches
        # Blank rows between stretches, as many as are looked at around a window.
        self._starts: list[int] = []
        lines: list[str] = []
        for stretch in stretches:
            self._starts.append(len(lines))
            lines += stretch.lines
            lines += [""] * NEAR_LINES
        self._sheet = Sheet(lines, asked.question, asked.query.max_chars)
        self._of_row = np.repeat(np.arange(len(stretches)), [len(each.lines) + NEAR_LINES for each in stretches])
        self._meaning = self._laid_meaning()
        self._names = self._laid_names()
        self._dated = np.array([stretch.file.is_asked_day for stretch in stretches], np.float32)
        self._factors = self._laid_factors()
        self._spans = self._sheet.spans(self._separators())
        self._of = self._of_row[self._spans.first]
        self._scores = np.zeros((4, len(self._spans)), np.float32)
        self._statements: dict[tuple[int, int], Statement] = {}
        self._score(np.arange(len(self._spans)))

    def _separators(self) -> Flags:
        closed = np.zeros(len(self._sheet.lines), bool)
        for start, stretch in zip(self._starts, self._stretches, strict=True):
            closed[start + len(stretch.lines) : start + len(stretch.lines) + NEAR_LINES] = True
        return closed

    def _laid_meaning(self) -> SheetMeaning:
        meaning = SheetMeaning(self._sheet)
        for start, stretch in zip(self._starts, self._stretches, strict=True):
            for place in stretch.places:
                meaning.lay(start + place.first - stretch.first, place)
        return meaning

    def _laid_names(self) -> Floats:
        names = np.zeros((len(self._stretches), len(self._asked.question.terms)), np.float32)
        for at, stretch in enumerate(self._stretches):
            for term, share in stretch.file.name.items():
                names[at, term] = share
        return names

    def _laid_factors(self) -> Floats:
        """What the age of each file and the importance of each row leave of its relevance."""
        importance = np.ones(len(self._of_row), np.float32)
        for start, stretch in zip(self._starts, self._stretches, strict=True):
            if any("<!--" in line for line in stretch.lines):
                for said in importances(stretch.lines):
                    importance[start + said.first - 1 : start + said.last] = said.factor
        ages = np.array([stretch.file.age for stretch in self._stretches], np.float32)
        floored: Floats = np.maximum(ages[self._of_row] * importance, np.float32(LOWEST_FACTOR))
        return floored

    def _score(self, at: Rows) -> None:
        """Score the windows number `at`: their rank, relevance, keyword part and vector part."""
        if not len(at):
            return
        spans, asked = Spans(self._spans.first[at], self._spans.last[at]), self._asked
        text = self._keyword_parts(spans, at) if asked.by_words else None
        vector, alone = self._meaning.of(spans)
        score = blend(text, vector, asked.ranking.weights)
        eligible = (score >= asked.query.min_score) & (score > 0) & (alone if text is None else alone | (text > 0))
        factor = self._sheet.strongest(self._factors, spans) if (self._factors != 1.0).any() else np.float32(1.0)
        self._scores[0, at] = np.where(eligible, score * factor, 0.0)
        self._scores[1, at], self._scores[2, at], self._scores[3, at] = score, np.nan if text is None else text, vector

    def _keyword_parts(self, spans: Spans, at: Rows) -> Floats:
        files = self._of[at]
        return keyword_parts(self._asked.question, self._sheet.found(spans, self._names[files], self._dated[files]))

    def best(self, allowed: Callable[[File], bool] | None = None) -> int | None:
        """The number of the best window, of files that are `allowed`. None when nothing relevant is left."""
        ranks = self._scores[0]
        if not len(ranks):
            return None
        if allowed is not None:
            ranks = ranks * np.array([allowed(stretch.file) for stretch in self._stretches])[self._of]
        at = _middle(ranks, int(np.argmax(ranks)), self._of)
        return at if ranks[at] > 0 else None

    def rank(self, at: int) -> float:
        """What window number `at` is ordered by."""
        return float(self._scores[0, at])

    def file(self, at: int) -> File:
        """The file of window number `at`."""
        return self._stretches[int(self._of[at])].file

    def best_of_each(self) -> list[int]:
        """The best window of every stretch that has a relevant one left."""
        borders = np.searchsorted(self._of, np.arange(len(self._stretches) + 1))
        pairs = zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)
        tops = [first + int(np.argmax(self._scores[0, first:last])) for first, last in pairs if last > first]
        return [at for at in tops if self._scores[0, at] > 0]

    def statement(self, at: int) -> Statement:
        """What a window says in its best line, for comparing it with others."""
        rows = int(self._spans.first[at]), int(self._spans.last[at])
        if rows not in self._statements:
            row = self._sheet.strongest_row(*rows)
            asked = {term: float(self._asked.question.masses[term]) for term in self._sheet.terms_in(row, row)}
            line, score = self._sheet.lines[row], float(self._scores[1, at])
            self._statements[rows] = Statement(self.file(at).written_day, line, asked, score)
        return self._statements[rows]

    def passage(self, at: int) -> Passage:
        """What window number `at` holds."""
        stretch = self._stretches[int(self._of[at])]
        first, last = int(self._spans.first[at]), int(self._spans.last[at])
        number = stretch.first - self._starts[int(self._of[at])]
        rank, score, text, vector = self._scores[:, at].tolist()
        terms, explain = self._asked.question.terms, self._asked.query.explain
        return Passage(
            file=stretch.file,
            first=first + number,
            last=last + number,
            lines=self._sheet.lines[first : last + 1],
            cut=self._sheet.cut(first),
            rank=rank,
            score=score,
            text_score=_known(text),
            vector_score=_known(vector),
            factor=rank / score,
            words=tuple(terms[term].text for term in self._sheet.terms_in(first, last)) if explain else (),
            marked=tuple(row + number for row in self._sheet.marked(first, last)) if explain else (),
        )

    def strike(self, file: File, first: int, last: int) -> None:
        """Take lines of a file off the desk; what is left of the windows that held some is scored again."""
        for start, stretch in zip(self._starts, self._stretches, strict=True):
            low, high = max(first - stretch.first, 0), min(last - stretch.first, len(stretch.lines) - 1)
            if stretch.file is file and low <= high:
                self._strike_rows(start + low, start + high)

    def _strike_rows(self, first: int, last: int) -> None:
        begin, end = self._spans.first, self._spans.last
        self._scores[0, (begin >= first) & (begin <= last)] = 0.0
        cut = np.flatnonzero((begin < first) & (end >= first))
        if len(cut):
            end[cut] = self._sheet.last_filled(first - 1)
            self._score(cut[self._scores[0, cut] > 0])

    def drop(self, file: File) -> None:
        """Take a file off the desk."""
        gone = [stretch.file is file for stretch in self._stretches]
        self._scores[0, np.array(gone)[self._of]] = 0.0


def _middle(ranks: Floats, best: int, of: Rows) -> int:
    """Of neighbouring windows that are as good as the best one the middle: it shows the answer with what is around."""
    end = best
    while end + 1 < len(ranks) and ranks[end + 1] >= ranks[best] - 1e-6 and of[end + 1] == of[best]:
        end += 1
    return (best + end) // 2


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
