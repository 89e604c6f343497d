"""The score: covered information, the same meaning at every size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.passages.windows import Sheet, Spans
from backends.relevance import (
    FULL_COVERAGE,
    Floats,
    Question,
    SampleStatistics,
    Spread,
    Weights,
    blend,
    inverse_frequency,
    keyword_parts,
)
from backends.text.tokens import normalize


def score(query: str, passage: str, *others: str) -> float:
    """The keyword part of a passage among other texts."""
    return scored(Question(query, SampleStatistics.of([passage, *others])), passage)


def scored(question: Question, passage: str, first: int = 0, last: int | None = None) -> float:
    """The keyword part of the rows `first..last` of a text."""
    lines = passage.split("\n")
    sheet = Sheet(lines, question, 10_000)
    spans = Spans(np.array([first]), np.array([len(lines) - 1 if last is None else last]))
    return float(
        keyword_parts(
            question, sheet.found(spans, np.zeros((1, len(question.terms)), np.float32), np.zeros(1, np.float32))
        )[0]
    )


def parts(*values: float | None) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float32)


def test_all_words_are_one_and_none_is_nothing() -> None:
    """Full coverage is next to 1, no coverage 0."""
    assert FULL_COVERAGE < score("where is the red car", "a red car") < 1.0
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
    assert score("PIO-1384", "see PIO-1384.") > FULL_COVERAGE
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
    assert 0.0 <= scored(question, passage) <= 1.0
    assert 0.0 <= question.ceiling(normalize(passage), {}) <= 1.0


def test_how_often_a_word_stands_there_decides_between_equals() -> None:
    """Saying it twice is a little more than saying it once, and less than saying one thing more."""
    once, twice = "rocket for the team", "rocket rocket for the team"
    assert score("rocket fuel", once) < score("rocket fuel", twice) < score("rocket fuel", "rocket fuel")


def test_what_stands_around_counts_less_than_what_stands_there() -> None:
    """A passage is about what the lines around it speak of, the nearer the more."""
    question = Question("boat engine", SampleStatistics.of(["boat", "engine"]))
    text = "the boat\n-\nits engine\n-\n-\n-\n-\n-\nan engine"
    far, near, both = scored(question, text, 8, 8), scored(question, text, 2, 2), scored(question, text, 0, 2)
    assert far < near < both


def test_nothing_is_relevant_for_its_surroundings_alone() -> None:
    """A line without a word of the question has no keyword part, whatever stands beside it."""
    question = Question("boat", SampleStatistics.of(["boat"]))
    assert scored(question, "the boat\nthe weather", 1, 1) == 0.0


def test_a_line_is_about_its_label() -> None:
    """What is said behind the name that was asked for is worth more than the same words elsewhere."""
    labelled, mentioned = "- **Maya**: sold the boat", "- Tom: Maya sold the boat"
    assert score("did Maya sell or rent the boat", labelled) > score("did Maya sell or rent the boat", mentioned)


def test_a_cosine_is_placed_between_background_and_best() -> None:
    """Below the background is nothing, at the best is all."""
    spread = Spread(0.2, 0.7)
    assert spread.place(parts(0.1, 0.2, 0.45, 0.7, 0.9)) == pytest.approx([0, 0, 0.5, 1, 1], abs=1e-6)


def test_weights_are_renormalised_over_the_legs_that_ran() -> None:
    """One leg alone counts fully, two are mixed."""
    weights = Weights(0.7, 0.3)
    assert blend(parts(0.8), None, weights) == pytest.approx([0.8])
    assert blend(None, parts(0.8), weights) == pytest.approx([0.8])
    assert blend(parts(0.5), parts(1.0), weights) == pytest.approx([0.85])
    assert blend(parts(0.5), parts(1.0), Weights(0.0, 0.0)) == pytest.approx([0.75])


def test_a_passage_that_the_vectors_did_not_see_is_judged_by_its_words() -> None:
    """A vector that is still missing takes nothing away."""
    assert blend(parts(0.6, 0.6), parts(None, 0.0), Weights())[0] == pytest.approx(0.6)


def test_keywords_alone_pass_the_default_threshold() -> None:
    """A perfect keyword match that the vectors do not see stays well above 0.35."""
    assert blend(parts(1.0), parts(0.0), Weights())[0] > 0.6
