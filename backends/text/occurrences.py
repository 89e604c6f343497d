"""Where the terms of a query stand in normalised text, at word borders and as typed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from backends.text.tokens import Term, fold, is_dense, is_word_character, word_end

#: In a text that repeats a word more often than that, the first places stand for the rest.
MAX_PLACES = 5_000
_PARTS_SHARE = 0.4


class Occurrence(NamedTuple):
    """One term found in normalised text at code points `start..end`; `share` is 1, less for a part of an identifier."""

    start: int
    end: int
    term: int
    share: float = 1.0


def needles(term: Term) -> list[str]:
    """Strings of which at least one stands wherever the term or a part of it is found."""
    return [_needle(part) for part in _parts(term)] if term.identifier else [_needle(term)]


def find(text: str, term: Term, index: int) -> list[Occurrence]:
    """Every place of a term in normalised text, as occurrences of term number `index`."""
    if term.identifier:
        return _find_identifier(text, term, index)
    needle = _needle(term)
    if not term.bounded:
        return [Occurrence(at, at + len(needle), index) for at in _positions(text, needle)]
    found = []
    for at in _positions(text, needle):
        if at and is_word_character(text[at - 1]):
            continue
        end = word_end(text, at + len(needle))
        if fold(text[at:end]) == term.text:
            found.append(Occurrence(at, end, index))
    return found


def _needle(term: Term) -> str:
    # A stem ends in the i that stands for a y, or in an e that -ing took: all forms of the word share what is before.
    return term.text.rstrip("ei") or term.text if term.bounded and not term.identifier else term.text


def _parts(term: Term) -> list[Term]:
    return [Term(key, (key,), bounded=not is_dense(key[0])) for key in dict.fromkeys(term.keys)]


def _find_identifier(text: str, term: Term, index: int) -> list[Occurrence]:
    whole = [at for at in _positions(text, term.text) if _stands_alone(text, at, at + len(term.text))]
    if whole:
        return [Occurrence(at, at + len(term.text), index) for at in whole]
    share = _PARTS_SHARE / len(term.keys)
    found = [place for part in _parts(term) for place in find(text, part, index)]
    present = {fold(text[place.start : place.end]) for place in found}
    return [Occurrence(place.start, place.end, index, share * len(present)) for place in found]


def _stands_alone(text: str, start: int, end: int) -> bool:
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    return not (is_word_character(before) or before == "_" or is_word_character(after) or after == "_")


def _positions(text: str, needle: str) -> Iterable[int]:
    return islice(_every_position(text, needle), MAX_PLACES)


def _every_position(text: str, needle: str) -> Iterator[int]:
    at = text.find(needle)
    while at >= 0:
        yield at
        at = text.find(needle, at + len(needle))
