"""The one meaning of a score: how much of what was asked a passage holds, in 0..1, for every engine.

The keyword part is the share of the query's information (inverse document frequency) that the passage
covers. The vector part is a cosine placed between what unrelated and what answering text has in this index.
Neither depends on how many files there are, so that `minScore` means the same with two notes and with 20,000.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from backends.dates import day_in
from backends.text.asked_days import AskedDays, asked_days
from backends.text.occurrences import Occurrence, find, needles
from backends.text.tokens import MAX_QUERY_CHARS, Term, index_terms, normalize, query_terms

Floats: TypeAlias = npt.NDArray[np.float32]

# Virtual documents without any of the words: with two real ones a rare word still weighs more than a common one
# and a word that stands in both is not worth nothing.
_PRIOR_DOCUMENTS = 100
# The first words that are covered say more than the last: half of a question's information is more than half of
# an answer.
_COVERAGE_POWER = 0.7
# Two characters that stand together nowhere are most often the end of one word and the beginning of the next.
_UNKNOWN_PAIR = 0.3
_PHRASE_BONUS = 0.08
_IDENTIFIER_BONUS = 0.10
# "Maya: we sold the boat" and "- **Router**: 10.0.0.1" say by themselves what they are about.
_LABEL_BONUS = 0.15
# A note of the day that was asked for may answer without a word of the question: a soft preference.
_DAY_BONUS = 0.2
_NAME_SHARE = 0.8
# What the lines around speak of is what a passage speaks of, too, though it does not say so.
_NEAR_SHARE = 0.5
# How often the words stand there orders passages that hold the same ones.
_DENSITY_SHARE = 0.05
_DENSITY_HALF = 1.2
#: The keyword part of a passage that holds all that was asked, but for how often: below every exact file name.
FULL_COVERAGE = 0.93
#: As much of a text is counted as tells its words.
_SAMPLE_CHARS = 64 * 1024
#: A passage that holds all that was asked is relevant even where the vectors see nothing in it: an exact ticket
#: number, or a small static model. What they see orders passages of the same words.
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

    def place(self, cosines: Floats) -> Floats:
        """Cosines as relevances in 0..1."""
        width = np.float32(max(self.best - self.background, 1e-6))
        placed: Floats = np.clip((cosines - np.float32(self.background)) / width, 0.0, 1.0)
        return placed


@dataclass(frozen=True, slots=True)
class Found:
    """What `k` passages hold of a question's `t` terms.

    `shares` (k, t): how fully each term stands in each passage, 0..1; `near` (k, t): the same for the lines around,
    less with distance; `counts` (k, t): how often; `pairs` (k, t - 1): whether neighbouring terms stand side by side;
    `identified` (k): whether an identifier stands there as typed; `labelled` (k): the most that a line covers whose
    label is one of the terms; `names` (k, t): how fully the file's name holds each term; `dated` (k): whether the file
    is of a day that the question asks for.
    """

    shares: Floats
    near: Floats
    counts: Floats
    pairs: Floats
    identified: Floats
    labelled: Floats
    names: Floats
    dated: Floats


class Question:
    """A query prepared for scoring many passages. Safe to share between threads: it only remembers what it computed."""

    def __init__(self, text: str, statistics: Statistics, today: date | None = None) -> None:
        self.terms = query_terms(text)
        masses = [_mass(term, statistics) for term in self.terms]
        total = sum(masses) or 1.0
        #: The share of the question's information that each term carries (t).
        self.masses: Floats = np.array([mass / total for mass in masses], dtype=np.float32)
        self._shares: list[float] = self.masses.tolist()
        self._days = asked_days(text[:MAX_QUERY_CHARS], today)
        self._ceilings: dict[frozenset[int], float] = {}
        self._needles = [(needle, at) for at, term in enumerate(self.terms) for needle in needles(term)]

    @property
    def numbers(self) -> range:
        """The numbers of the terms."""
        return range(len(self.terms))

    def occurrences(self, normalized: str) -> list[Occurrence]:
        """Every place where a term stands, in order of position."""
        found: list[Occurrence] = []
        for index in self._present(normalized):
            found += find(normalized, self.terms[index], index)
        found.sort(key=_by_start)
        return found

    def coverage(self, shares: Mapping[int, float]) -> float:
        """The share of the query's information that terms found with these shares cover, 0..1."""
        return math.fsum(self._shares[term] * share for term, share in shares.items())

    def ceiling(self, normalized: str, name: Mapping[int, float], *, dated: bool = False) -> float:
        """About the highest keyword part of a passage of this text, much cheaper than finding the passages."""
        present = self._present(normalized)
        if name:
            return min(1.0, self._ceiling(present, name) + _DAY_BONUS * dated)
        # Most names hold no word of the question, and many texts hold the same ones.
        known = self._ceilings.get(present)
        if known is None:
            known = self._ceilings[present] = self._ceiling(present, name)
        return known

    def _ceiling(self, present: frozenset[int], name: Mapping[int, float]) -> float:
        if not present and not name:
            return 0.0
        shares = dict.fromkeys(present, 1.0)
        for term, share in name.items():
            shares.setdefault(term, share * _NAME_SHARE)
        base: float = self.coverage(shares) ** _COVERAGE_POWER
        if any(self.terms[term].identifier for term in present):
            base += _IDENTIFIER_BONUS
        return min(1.0, base) * FULL_COVERAGE

    def _present(self, normalized: str) -> frozenset[int]:
        """The terms that may stand in a text: the cheap look before the exact one."""
        return frozenset([term for needle, term in self._needles if needle in normalized])

    def name_shares(self, name: str) -> dict[int, float]:
        """The terms that the name of a file holds; a day in it holds the words that ask for that day."""
        shares = {occurrence.term: occurrence.share for occurrence in self.occurrences(normalize(name))}
        for asked in self._days_of(name):
            shares |= {at: 1.0 for at, term in enumerate(self.terms) if term.text in asked.words}
        return shares

    def is_asked_day(self, name: str) -> bool:
        """Whether the name of a file holds a day that the question asks for."""
        return bool(self._days_of(name))

    def _days_of(self, name: str) -> list[AskedDays]:
        day = day_in(name) if self._days else None
        return [asked for asked in self._days if asked.holds(day)] if day else []


def keyword_parts(question: Question, found: Found) -> Floats:
    """The keyword parts (k) of passages, 0..1.

    The name of a file counts for what its passages do not repeat: a note called `router.md` need not say router in
    each line. A passage that holds none of the words itself has none of the relevance of what is around it.
    """
    own = np.maximum(found.shares, found.names * np.float32(_NAME_SHARE))
    base = (np.maximum(own, found.near * np.float32(_NEAR_SHARE)) @ question.masses) ** _COVERAGE_POWER
    base += _PHRASE_BONUS * found.pairs.sum(axis=1) / max(1, len(question.terms) - 1)
    base += _IDENTIFIER_BONUS * found.identified + _LABEL_BONUS * found.labelled + _DAY_BONUS * found.dated
    density = (found.counts / (found.counts + _DENSITY_HALF)) @ question.masses
    parts: Floats = FULL_COVERAGE * np.minimum(base, 1.0) + _DENSITY_SHARE * density
    parts[~own.any(axis=1)] = 0.0
    return parts


def blend(text: Floats | None, vector: Floats | None, weights: Weights) -> Floats:
    """One relevance from the parts that ran; None is a leg that did not, NaN a passage that the vectors did not see."""
    if text is None or vector is None:
        only = text if text is not None else vector
        return np.zeros(0, np.float32) if only is None else np.nan_to_num(only)
    total = weights.text + weights.vector
    mixed = (weights.text * text + weights.vector * vector) / total if total > 0 else (text + vector) / 2
    floor = KEYWORDS_ALONE * text + (1 - KEYWORDS_ALONE) * vector
    scores: Floats = np.where(np.isnan(vector), text, np.fmax(mixed, floor))
    return scores


def inverse_frequency(documents: int, frequency: int) -> float:
    """The information of a word. A word that stands nowhere counts as one of the rarest, not as more."""
    frequency = max(1, frequency)
    return math.log1p((max(documents, frequency) + _PRIOR_DOCUMENTS - frequency + 0.5) / (frequency + 0.5))


def _mass(term: Term, statistics: Statistics) -> float:
    frequencies = [statistics.frequency(key) for key in term.keys]
    mass = term.weight * sum(inverse_frequency(statistics.documents, frequency) for frequency in frequencies)
    return mass * _UNKNOWN_PAIR if not term.bounded and not any(frequencies) else mass


def _by_start(occurrence: Occurrence) -> int:
    return occurrence.start
