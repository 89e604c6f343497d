"""The one meaning of a score: how much of what was asked a passage holds, in 0..1, for every engine.

The keyword part is the share of the query's information (inverse document frequency) that the passage
covers. The vector part is a cosine placed between what unrelated and what answering text has in this index.
Neither depends on how many files there are, so that `minScore` means the same with two notes and with 20,000.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import NamedTuple, Protocol

from backends.dates import spoken_days
from backends.tokens import (
    MAX_QUERY_CHARS,
    Term,
    fold,
    index_terms,
    is_dense,
    is_word_character,
    normalize,
    query_terms,
    word_end,
)

# Virtual documents without any of the words: with two real ones a rare word still weighs more than a common one
# and a word that stands in both is not worth nothing.
_PRIOR_DOCUMENTS = 100
_PHRASE_BONUS = 0.08
_IDENTIFIER_BONUS = 0.10
_NAME_SHARE = 0.8
_COVERAGE_POWER = 0.7
_PARTS_SHARE = 0.4
#: In a text that repeats a word more often than that, the first places stand for the rest.
MAX_PLACES = 5_000
#: As much of a text is counted as tells its words.
_SAMPLE_CHARS = 64 * 1024
#: A passage that holds all that was asked is relevant even where the vectors see nothing in it: an exact ticket
#: number, or a small static model.
KEYWORDS_ALONE = 0.9


class Statistics(Protocol):
    """How common words are in a corpus."""

    @property
    def documents(self) -> int:
        """How many passages were counted."""
        ...

    def frequency(self, term: str) -> int:
        """How many of them hold the index term."""
        ...


class SampleStatistics:
    """Frequencies of the texts at hand, for an engine without a built-in index beside it."""

    def __init__(self, documents: int, counts: Counter[str]) -> None:
        self._documents = documents
        self._counts = counts

    @classmethod
    def of(cls, texts: Iterable[str]) -> SampleStatistics:
        """Count each index term once per text."""
        counts: Counter[str] = Counter()
        documents = 0
        for text in texts:
            documents += 1
            counts.update(set(index_terms(text[:_SAMPLE_CHARS])))
        return cls(documents, counts)

    @property
    def documents(self) -> int:
        """How many texts were counted."""
        return self._documents

    def frequency(self, term: str) -> int:
        """How many of the texts hold the index term."""
        return self._counts[term]


@dataclass(frozen=True, slots=True)
class Weights:
    """Shares of the two legs, renormalised over the legs that ran."""

    vector: float = 0.7
    text: float = 0.3


@dataclass(frozen=True, slots=True)
class Spread:
    """Cosines of one model on one index: `background` between unrelated texts, `best` between question and answer."""

    background: float
    best: float

    def place(self, cosine: float) -> float:
        """The cosine as a relevance in 0..1."""
        width = max(self.best - self.background, 1e-6)
        return min(1.0, max(0.0, (cosine - self.background) / width))


class Occurrence(NamedTuple):
    """One term found in normalised text at code points `start..end`; `share` is 1, less for a part of an identifier."""

    start: int
    end: int
    term: int
    share: float = 1.0


class Question:
    """A query prepared for scoring many passages. Safe to share between threads: it only remembers what it computed."""

    def __init__(self, text: str, statistics: Statistics) -> None:
        self.terms = tuple(query_terms(text))
        self.masses = tuple(_mass(term, statistics) for term in self.terms)
        self.total = sum(self.masses)
        self._days = [(day, {fold(word) for word in words}) for day, words in spoken_days(text[:MAX_QUERY_CHARS])]
        self._ceilings: dict[frozenset[int], float] = {}
        self._needles = [(needle, at) for at, term in enumerate(self.terms) for needle in _needles(term)]

    def occurrences(self, normalized: str) -> list[Occurrence]:
        """Every place where a term stands, in order of position."""
        found: list[Occurrence] = []
        for index in self._present(normalized):
            found += _find(normalized, self.terms[index], index)
        found.sort(key=_by_start)
        return found

    def coverage(self, shares: dict[int, float]) -> float:
        """The share of the query's information that terms found with these shares cover, 0..1."""
        if not self.total:
            return 0.0
        return sum(self.masses[term] * share for term, share in shares.items()) / self.total

    def ceiling(self, normalized: str, name: dict[int, float]) -> float:
        """No passage of this text can have a higher keyword part. Much cheaper than finding the passages."""
        present = self._present(normalized)
        if name:
            return self._ceiling(present, name)
        # Most names hold no word of the question, and many texts hold the same ones.
        known = self._ceilings.get(present)
        if known is None:
            known = self._ceilings[present] = self._ceiling(present, name)
        return known

    def _ceiling(self, present: frozenset[int], name: dict[int, float]) -> float:
        shares = dict.fromkeys(present, 1.0)
        for term, share in name.items():
            shares.setdefault(term, share * _NAME_SHARE)
        pairs = sum(term + 1 in present for term in present)
        bonus = _PHRASE_BONUS * pairs / max(1, len(self.terms) - 1)
        if any(self.terms[term].identifier for term in present):
            bonus += _IDENTIFIER_BONUS
        return min(1.0, float(self.coverage(shares) ** _COVERAGE_POWER) + bonus)

    def _present(self, normalized: str) -> frozenset[int]:
        """The terms that may stand in a text: the cheap look before the exact one."""
        return frozenset([term for needle, term in self._needles if needle in normalized])

    def name_shares(self, name: str) -> dict[int, float]:
        """The terms that the name of a file holds; a day in it holds the words that speak of that day."""
        shares = {occurrence.term: occurrence.share for occurrence in self.occurrences(normalize(name))}
        for day, words in self._days:
            if day.isoformat() in name:
                shares |= {at: 1.0 for at, term in enumerate(self.terms) if term.text in words}
        return shares


def keyword_score(question: Question, found: Sequence[Occurrence], name: dict[int, float]) -> float:
    """The keyword part for a passage in which `found` stand, in a file whose name holds the terms of `name`.

    The name counts for what its passages do not repeat: a note called `router.md` need not say router in each line.
    """
    shares = {term: share * _NAME_SHARE for term, share in name.items()}
    for occurrence in found:
        shares[occurrence.term] = max(shares.get(occurrence.term, 0.0), occurrence.share)
    # The first words that are covered say more than the last: half of a question's information is more than
    # half of an answer.
    score: float = question.coverage(shares) ** _COVERAGE_POWER
    score += _PHRASE_BONUS * _phrase_share(question, found)
    if any(question.terms[at.term].identifier and at.share == 1.0 for at in found):
        score += _IDENTIFIER_BONUS
    return min(1.0, score)


def blend(text: float | None, vector: float | None, weights: Weights) -> float:
    """One relevance from the parts that ran; None is a leg that did not."""
    if text is None or vector is None:
        return text if text is not None else vector or 0.0
    total = weights.text + weights.vector
    mixed = (weights.text * text + weights.vector * vector) / total if total > 0 else (text + vector) / 2
    return max(mixed, KEYWORDS_ALONE * text)


def inverse_frequency(documents: int, frequency: int) -> float:
    """The information of a word. A word that stands nowhere counts as one of the rarest, not as more."""
    frequency = max(1, frequency)
    return math.log1p((max(documents, frequency) + _PRIOR_DOCUMENTS - frequency + 0.5) / (frequency + 0.5))


def _mass(term: Term, statistics: Statistics) -> float:
    return sum(inverse_frequency(statistics.documents, statistics.frequency(key)) for key in term.keys)


def _phrase_share(question: Question, found: Sequence[Occurrence]) -> float:
    """The share of neighbouring pairs of query terms that also stand side by side in the passage."""
    pairs = len(question.terms) - 1
    if pairs < 1:
        return 0.0
    together = {
        first.term
        for first, second in pairwise(found)
        if second.term == first.term + 1 and 0 <= second.start - first.end <= 2
    }
    return len(together) / pairs


def _by_start(occurrence: Occurrence) -> int:
    return occurrence.start


def _needle(term: Term) -> str:
    # A stem ends in the i that stands for a y, or in an e that -ing took: all forms of the word share what is before.
    return term.text.rstrip("ei") or term.text if term.bounded and not term.identifier else term.text


def _needles(term: Term) -> list[str]:
    """Strings of which at least one stands wherever the term or a part of it is found."""
    return [_needle(part) for part in _parts(term)] if term.identifier else [_needle(term)]


def _parts(term: Term) -> list[Term]:
    return [Term(key, (key,), bounded=not is_dense(key[0])) for key in dict.fromkeys(term.keys)]


def _find(text: str, term: Term, index: int) -> list[Occurrence]:
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


def _find_identifier(text: str, term: Term, index: int) -> list[Occurrence]:
    whole = [at for at in _positions(text, term.text) if _stands_alone(text, at, at + len(term.text))]
    if whole:
        return [Occurrence(at, at + len(term.text), index) for at in whole]
    share = _PARTS_SHARE / len(term.keys)
    found = [place for part in _parts(term) for place in _find(text, part, index)]
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
