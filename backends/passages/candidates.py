"""Where an engine points, what may be expected of it, and the lines there that are worth a look."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from backends.corpus import Located, split_lines
from backends.passages.desk import Stretch
from backends.passages.file import Asked, File
from backends.passages.meaning import Place
from backends.relevance import blend
from backends.text.lines import Lines, spans
from backends.text.tokens import normalize

# Of a place of more code points, only what lies around words is looked at.
_SMALL_CHARS = 16_000
_MOST_IMPORTANT = 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A place that an engine points at: a file, or some lines of it (1-based, inclusive).

    `vector_score` is the relevance of the vector leg in 0..1, None where that leg did not see the place. `preview` is
    the text of the lines as the engine remembers it; it is scored, and shown only as far as the file still says so.
    """

    located: Located
    start_line: int | None = None
    end_line: int | None = None
    vector_score: float | None = None
    preview: str | None = None


@dataclass(frozen=True, slots=True)
class Prospect:
    """A file with the places in it, and about the best rank that a passage of it can have."""

    file: File
    candidates: Sequence[Candidate]
    expected: float


def prospects(
    groups: Iterable[Sequence[Candidate]], asked: Asked, texts: Mapping[str, str] | None = None
) -> list[Prospect]:
    """The files of candidates, those first of which most is expected. Of text that is not known everything is.

    `texts`, by shown path, are files that were read already.
    """
    read = texts or {}
    files = [(File(group[0].located, asked, read.get(group[0].located.path)), group) for group in groups]
    parts = [_remembered_parts(file, group, asked) for file, group in files]
    words = np.array([words for words, _ in parts], np.float32) if asked.by_words else None
    vectors = np.array([vector for _, vector in parts], np.float32)
    scores = blend(words, vectors, asked.ranking.weights)
    found = [
        Prospect(file, group, _expected(file, group, score))
        for (file, group), score in zip(files, scores.tolist(), strict=True)
    ]
    return sorted(found, key=lambda prospect: -prospect.expected)


def _expected(file: File, group: Sequence[Candidate], score: float) -> float:
    if file.named or any(candidate.preview is None for candidate in group):
        return math.inf
    important = any("importance:" in (candidate.preview or "") for candidate in group)
    return score * file.age * (_MOST_IMPORTANT if important else 1.0)


def _remembered_parts(file: File, group: Sequence[Candidate], asked: Asked) -> tuple[float, float]:
    """About the highest keyword part that the engine's text allows, and the highest vector part, NaN without any."""
    preview = normalize("\n".join(candidate.preview or "" for candidate in group))
    seen = [candidate.vector_score for candidate in group if candidate.vector_score is not None]
    return asked.question.ceiling(preview, file.name, dated=file.is_asked_day), max(seen, default=math.nan)


def remembered(prospect: Prospect) -> Iterator[Stretch] | None:
    """The lines of a file as the engine remembers them, None where it does not."""
    places = [_remembered_place(candidate) for candidate in prospect.candidates]
    if not all(places):
        return None
    found = sorted((place for place in places if place), key=lambda place: place[0].first)
    return _merged(prospect.file, found)


def _remembered_place(candidate: Candidate) -> tuple[Place, list[str]] | None:
    if candidate.preview is None or candidate.start_line is None or candidate.end_line is None:
        return None
    lines = candidate.preview.split("\n")
    # The part of a line that is a chunk of its own: only the file knows the whole line.
    if len(lines) != candidate.end_line - candidate.start_line + 1 or candidate.start_line == candidate.end_line:
        return None
    return _place(candidate, candidate.start_line, candidate.end_line), lines


def _merged(file: File, found: list[tuple[Place, list[str]]]) -> Iterator[Stretch]:
    for first, last in spans([(place.first, place.last) for place, _ in found]):
        inside = [(place, lines) for place, lines in found if first <= place.first <= last]
        text: list[str] = []
        for place, lines in inside:
            text += lines[first + len(text) - place.first :]
        yield Stretch(file, first, text, [place for place, _ in inside])


def on_disk(prospect: Prospect, asked: Asked) -> Iterator[Stretch]:
    """The lines of a file as it is now: its places and what a passage may reach; of large ones what is around words."""
    lines = prospect.file.lines
    if lines is None:
        return
    known = prospect.candidates
    if not all(_is_in_place(candidate, lines) for candidate in known):
        # Changed since the engine looked at it: its places are anywhere by now.
        known = [Candidate(located=prospect.file.located)]
    places = list(_places(known, lines.count))
    wanted: list[tuple[int, int]] = []
    for first, last in spans([(place.first, place.last) for place in places]):
        if lines.length(first, last) <= _SMALL_CHARS:
            wanted.append((first, last))
        else:
            wanted += [(first, first), *_marked(lines, first, last, asked)]
    reach = asked.query.max_chars
    for first, last in spans([lines.around(*each, reach) for each in wanted]):
        inside = [place for place in places if first <= place.last and place.first <= last]
        yield Stretch(prospect.file, first, split_lines(lines.text(first, last)), inside)


def _is_in_place(candidate: Candidate, lines: Lines) -> bool:
    """Whether the file still says there what the engine remembers, or the engine remembers nothing."""
    if candidate.preview is None or candidate.start_line is None or candidate.end_line is None:
        return True
    return candidate.preview in "\n".join(split_lines(lines.text(candidate.start_line, candidate.end_line)))


def _places(candidates: Iterable[Candidate], lines: int) -> Iterator[Place]:
    for candidate in candidates:
        first, last = max(1, candidate.start_line or 1), min(lines, candidate.end_line or lines)
        if first <= last:
            yield _place(candidate, first, last)


def _place(candidate: Candidate, first: int, last: int) -> Place:
    return Place(first, last, candidate.vector_score)


def _marked(lines: Lines, first: int, last: int, asked: Asked) -> Iterator[tuple[int, int]]:
    normalized = normalize(lines.text(first, last))
    line, at = first, 0
    for occurrence in asked.question.occurrences(normalized):
        line, at = line + normalized.count("\n", at, occurrence.start), occurrence.start
        yield line, line
