"""Images and recordings as hits: the file itself, which has no lines to cut passages from."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from backends.base import Hit
from backends.corpus import Located, open_regular
from backends.media import kind_of, type_of
from backends.passages.candidates import Candidate
from backends.passages.desk import Passage
from backends.passages.file import Asked, File
from backends.passages.showing import shown_as
from backends.relevance import Floats, Found, blend, keyword_parts


def media_hits(candidates: Sequence[Candidate], asked: Asked, left_out: Counter[str]) -> Iterator[Hit]:
    """One hit for each file that is relevant and there, best first. `left_out` counts the others, by reason."""
    for passage in sorted(_passages(candidates, asked), key=lambda each: (-each.rank, each.file.located.path)):
        located = passage.file.located
        if passage.score < asked.query.min_score or passage.score <= 0:
            left_out["belowMinScore"] += 1
        elif not _is_there(located):
            left_out["gone"] += 1
        else:
            yield replace(
                shown_as(passage, asked.query, passage.file.named),
                snippet=f"[{kind_of(located.relative)}] {located.path}",
                media=type_of(located.relative),
            )


def _passages(candidates: Sequence[Candidate], asked: Asked) -> Iterator[Passage]:
    """Each file as if it were one line."""
    files = [File(candidate.located, asked) for candidate in candidates]
    vectors = np.array([_vector_score(candidate) for candidate in candidates], np.float32)
    parts = _name_parts(files, asked) if asked.by_words else None
    blended = blend(parts, vectors, asked.ranking.weights)
    for at, (file, candidate) in enumerate(zip(files, candidates, strict=True)):
        score = max(file.named, float(blended[at]))
        yield Passage(
            file=file,
            first=1,
            last=1,
            lines=(),
            cut=None,
            rank=score * file.age,
            score=score,
            text_score=None if parts is None else float(parts[at]),
            vector_score=candidate.vector_score,
            factor=file.age,
            words=tuple(file.name_words()),
            marked=(),
        )


def merged(passages: Iterator[Hit], media: Iterator[Hit]) -> Iterator[Hit]:
    """Both in their own order, the better one of the next two first; a passage before a file as good."""
    passage, file = next(passages, None), next(media, None)
    while passage is not None or file is not None:
        if file is None or (passage is not None and passage.score >= file.score):
            assert passage is not None
            yield passage
            passage = next(passages, None)
        else:
            yield file
            file = next(media, None)


def _vector_score(candidate: Candidate) -> float:
    return math.nan if candidate.vector_score is None else candidate.vector_score


def _name_parts(files: Sequence[File], asked: Asked) -> Floats:
    """The keyword parts of files of which nothing is known but their paths."""
    terms, count = len(asked.question.terms), len(files)
    names = np.zeros((count, terms), np.float32)
    for at, file in enumerate(files):
        for term, share in file.name.items():
            names[at, term] = share
    nothing, nowhere = np.zeros((count, terms), np.float32), np.zeros(count, np.float32)
    found = Found(
        shares=nothing,
        near=nothing,
        counts=nothing,
        pairs=nothing[:, 1:],
        identified=nowhere,
        labelled=nowhere,
        names=names,
        dated=np.array([file.is_asked_day for file in files], np.float32),
    )
    return keyword_parts(asked.question, found)


def _is_there(located: Located) -> bool:
    try:
        os.close(open_regular(located))
    except OSError:
        return False
    return True
