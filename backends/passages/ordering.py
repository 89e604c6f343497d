"""What may change the order of relevant passages, and never what is relevant at all.

Their age, their importance, a newer word on the same fact, and whether they only repeat what stands above them.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property

from backends.relevance import Weights
from backends.text.tokens import index_terms, subject_of

#: Nothing sinks below this share of its relevance, however old and unimportant it is.
LOWEST_FACTOR = 0.2
#: As many passages are reordered for diversity at most.
MMR_CANDIDATES = 48
#: Two statements are on the same fact when they are about equally relevant,
ABOUT_EQUAL = 0.15
# the newer one holds so much of what the older one holds of the question,
_SAME_QUESTION = 0.6
# and they share so much of the shorter one's words.
_SAME_FACT = 0.34


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """How relevant passages are put in order.

    `half_life_days` is the age at which a dated note counts half, None for no decay; `mmr_lambda` weighs relevance
    against repetition, None for no reordering.
    """

    weights: Weights = field(default_factory=Weights)
    half_life_days: float | None = None
    mmr_lambda: float | None = None


def decay(age_days: float, half_life_days: float) -> float:
    """The share that is left of the relevance of a note of that age; a date to come is today."""
    return math.exp(-math.log(2) / half_life_days * max(0.0, age_days))


def age_factor(day: date | None, today: date | None, half_life_days: float | None) -> float:
    """The decay of a note of that day; 1 for an undated one, and where nothing decays."""
    if half_life_days is None or day is None or today is None:
        return 1.0
    return decay((today - day).days, half_life_days)


@dataclass(frozen=True)
class Statement:
    """What decides whether two passages state the same fact.

    The day, the line that answers best, what it holds of the question (term: share of its information), and the
    relevance.
    """

    day: date | None
    line: str
    asked: Mapping[int, float]
    score: float

    @cached_property
    def words(self) -> frozenset[str]:
        """What the line speaks of."""
        return frozenset(subject_of(self.line))

    def outdates(self, other: Statement) -> bool:
        """Whether this is a newer word on the same fact."""
        return (
            self.day is not None
            and other.day is not None
            and self.day > other.day
            and self.score >= other.score - ABOUT_EQUAL
            and _mass(self.asked, other.asked) >= _SAME_QUESTION * _mass(other.asked, other.asked)
            and _overlap(self.words, other.words) >= _SAME_FACT
        )


def _mass(asked: Mapping[int, float], terms: Container[int]) -> float:
    return math.fsum(share for term, share in asked.items() if term in terms)


def _overlap(first: Set[str], second: Set[str]) -> float:
    smaller = min(len(first), len(second))
    return len(first & second) / smaller if smaller else 0.0


def diverse(texts: Sequence[str], scores: Sequence[float], weight: float) -> list[int]:
    """The positions by maximal marginal relevance: `weight * score - (1 - weight) * likeness to what was chosen`.

    `scores` are relevances in 0..1; likeness is the Jaccard index of the sets of words. Ties go to the earlier one.
    """
    words = [set(index_terms(text)) for text in texts]
    likeness = [0.0] * len(texts)
    left = list(range(len(texts)))
    chosen: list[int] = []
    while left:
        best = max(left, key=lambda at: (weight * scores[at] - (1 - weight) * likeness[at], -at))
        left.remove(best)
        chosen.append(best)
        for at in left:
            likeness[at] = max(likeness[at], _jaccard(words[at], words[best]))
    return chosen


def _jaccard(first: Set[str], second: Set[str]) -> float:
    together = len(first | second)
    return len(first & second) / together if together else 0.0
