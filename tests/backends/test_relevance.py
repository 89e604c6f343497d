"""The score: covered information, the same meaning at every size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.relevance import (
    Question,
    SampleStatistics,
    Spread,
    Weights,
    blend,
    inverse_frequency,
    keyword_score,
)
from backends.tokens import normalize


def score(query: str, passage: str, *others: str) -> float:
    question = Question(query, SampleStatistics.of([passage, *others]))
    return keyword_score(question, question.occurrences(normalize(passage)), {})


def test_all_words_are_one_and_none_is_nothing() -> None:
    """Full coverage is 1, no coverage 0."""
    assert score("where is the red car", "a red car") == 1.0
    assert score("red car", "bread and butter") == 0.0


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    """Of two passages with one word each, the one with the rarer word is more relevant."""
    others = ["meeting again"] * 50
    assert score("zebracomet meeting", "zebracomet", *others) > score("zebracomet meeting", "meeting", *others)


def test_word_borders_are_kept() -> None:
    """A word inside another word is not found."""
    assert score("car", "a scarf for carla") == 0.0


def test_an_identifier_counts_fully_only_as_typed() -> None:
    """The parts of a ticket number apart from each other are worth less than half."""
    assert score("PIO-1384", "see PIO-1384.") == 1.0
    assert score("PIO-1384", "PIO-1383 cost 1384 euro") < 0.6
    assert score("PIO-138", "see PIO-1384.") < 0.6


def test_a_unique_word_means_the_same_in_every_corpus() -> None:
    """Half of a query is about as relevant with 2 texts as with 2,000."""
    small = score("zebracomet bandersnatch", "zebracomet", "x")
    large = score("zebracomet bandersnatch", "zebracomet", *(f"text {at}" for at in range(2000)))
    assert small == pytest.approx(large, abs=0.02)


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_information_falls_with_frequency(documents: int, first: int, second: int) -> None:
    """A more frequent word never carries more, and every word carries something."""
    low, high = sorted((min(first, documents), min(second, documents)))
    assert inverse_frequency(documents, low) >= inverse_frequency(documents, high) > 0


@given(st.text(max_size=60), st.text(max_size=200))
def test_scores_stay_within_bounds(query: str, passage: str) -> None:
    """Any text gives a score in 0..1, and never more than its ceiling."""
    question = Question(query, SampleStatistics.of([passage]))
    text = normalize(passage)
    value = keyword_score(question, question.occurrences(text), {})
    assert 0.0 <= value <= question.ceiling(text, {}) + 1e-9 <= 1.0 + 2e-9


def test_a_cosine_is_placed_between_background_and_best() -> None:
    """Below the background is nothing, at the best is all."""
    spread = Spread(0.2, 0.7)
    assert [spread.place(cosine) for cosine in (0.1, 0.2, 0.45, 0.7, 0.9)] == pytest.approx([0, 0, 0.5, 1, 1])


def test_weights_are_renormalised_over_the_legs_that_ran() -> None:
    """One leg alone counts fully, two are mixed."""
    weights = Weights(0.7, 0.3)
    assert blend(0.8, None, weights) == 0.8
    assert blend(None, 0.8, weights) == 0.8
    assert blend(0.5, 1.0, weights) == pytest.approx(0.85)
    assert blend(0.5, 1.0, Weights(0.0, 0.0)) == pytest.approx(0.75)


def test_keywords_alone_pass_the_default_threshold() -> None:
    """A perfect keyword match that the vectors do not see stays well above 0.35."""
    assert blend(1.0, 0.0, Weights()) > 0.6
