"""Words, identifiers and pairs, and the words of grammar that go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.tokens import content_words, fold, index_terms, normalize, query_terms


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("What is the deploy codeword?", ["deploy", "codeword"]),
        ("where is my hat", ["hat"]),
        ("Wie lautet das Passwort des Routers?", ["lautet", "passwort", "routers"]),
        ("quelle est la couleur de la maison", ["couleur", "maison"]),
        ("где лежит ключ", ["лежит", "ключ"]),
        ("to be or not to be", ["to", "be", "or", "not"]),
    ],
)
def test_words_of_grammar_go_by_language(query: str, words: list[str]) -> None:
    """Only the list of the query's own language applies, and never to all words."""
    assert content_words(query) == words


@pytest.mark.parametrize("text", ["PIO-1384", "apply_secrets", "v2026.4.10", "etc/foo.conf", "alice@example.com"])
def test_an_identifier_is_one_term(text: str) -> None:
    """Joined parts stay together as typed."""
    (term,) = query_terms(text)
    assert (term.text, term.identifier) == (text.lower(), True)


def test_a_hyphenated_word_is_its_words() -> None:
    """Letters joined by a dash are ordinary words."""
    assert [term.text for term in query_terms("well-known")] == ["well", "known"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("studies", "study"), ("boxes", "box"), ("painting", "painted"), ("running", "runs"), ("hoping", "hope")],
)
def test_forms_of_a_word_are_one_term(one: str, other: str) -> None:
    """Plural, past and participle fold to the same stem."""
    assert fold(one) == fold(other)


def test_dense_scripts_give_characters_and_pairs() -> None:
    """A run without spaces is indexed by single characters and by pairs."""
    assert index_terms("项目评审") == ["项", "目", "评", "审", "项目", "目评", "评审"]


@given(st.text(max_size=100))
def test_any_text_is_tokenised(text: str) -> None:
    """No input raises, no term is empty, and lines stay lines."""
    assert all(term for term in index_terms(text))
    assert all(term.text and term.keys for term in query_terms(text))
    assert normalize(text).count("\n") == text.count("\n")
