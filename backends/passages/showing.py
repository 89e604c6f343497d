"""A passage as it is shown: read back from its file, widened to what is free around it, and explained."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from backends.base import Hit, Query
from backends.corpus import split_lines
from backends.passages.desk import Passage
from backends.text.lines import Lines


def hit_of(passage: Passage, query: Query, named: float) -> Hit | None:
    """The passage as a hit, read back from its file; None where that says something else by now, or is gone.

    `named` is the relevance that its name gives the file, 0 for none. The lines count as shown from now on.
    """
    lines = passage.file.lines
    if lines is None or not _still_there(passage, lines):
        return None
    first, last = _widened(passage, lines, query.max_chars)
    passage.file.shown.append((first, last))
    text = "\n".join(split_lines(lines.text(first, last)))
    snippet = text[slice(*passage.cut)] if passage.cut else text
    return replace(shown_as(passage, query, named), start_line=first, end_line=last, snippet=snippet)


def shown_as(passage: Passage, query: Query, named: float) -> Hit:
    """The passage as a hit whose snippet are its lines as they were scored; see `hit_of`."""
    located = passage.file.located
    return Hit(
        root=located.root.name,
        relative=located.relative,
        path=located.path,
        kind=located.root.kind,
        trusted=located.root.trusted,
        start_line=passage.first,
        end_line=passage.last,
        snippet="\n".join(passage.lines),
        score=named or min(1.0, passage.rank),
        text_score=passage.text_score,
        vector_score=passage.vector_score,
        partial=passage.cut is not None,
        column=passage.cut[0] + 1 if passage.cut else None,
        explain=_explained(passage, named=bool(named)) if query.explain else None,
    )


def _still_there(passage: Passage, lines: Lines) -> bool:
    return split_lines(lines.text(passage.first, passage.last)) == list(passage.lines)


def _widened(passage: Passage, lines: Lines, max_chars: int) -> tuple[int, int]:
    """The lines of a passage with free ones after and before it in turn while they fit, and no blank ones at its ends.

    An engine that remembers a place does not know what stands beyond its borders.
    """
    left = max_chars - lines.length(passage.first, passage.last)
    if passage.cut or left <= 0:
        return passage.first, passage.last
    low, high = lines.around(passage.first, passage.last, left)
    above = split_lines(lines.text(low, passage.first - 1))[::-1] if low < passage.first else []
    below = split_lines(lines.text(passage.last + 1, high))
    up = down = 0
    growing = True
    while growing:
        growing = False
        if down < len(below) and len(below[down]) < left and not passage.file.was_shown(passage.last + down + 1):
            left, down, growing = left - len(below[down]) - 1, down + 1, True
        if up < len(above) and len(above[up]) < left and not passage.file.was_shown(passage.first - up - 1):
            left, up, growing = left - len(above[up]) - 1, up + 1, True
    while down and not below[down - 1].strip():
        down -= 1
    while up and not above[up - 1].strip():
        up -= 1
    return passage.first - up, passage.last + down


def _explained(passage: Passage, *, named: bool) -> dict[str, Any]:
    reason = "name" if named else "words" if passage.words else "meaning"
    day = passage.file.day
    return {
        "relevance": round(passage.score, 4),
        "textScore": _rounded(passage.text_score),
        "vectorScore": _rounded(passage.vector_score),
        "factor": round(passage.factor, 4),
        "decay": round(passage.file.age, 4),
        "day": day.isoformat() if day else None,
        "matchedWords": list(passage.words),
        "nameWords": list(passage.file.name_words()),
        "window": {"reason": reason, "lines": list(passage.marked)},
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
