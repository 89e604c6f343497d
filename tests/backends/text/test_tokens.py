"""Words, identifiers and pairs, and the words of grammar that go."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.text.tokens import (
    MAX_IDENTIFIER_PARTS,
    MAX_QUERY_CHARS,
    MAX_QUERY_TERMS,
    content_words,
    fold,
    index_terms,
    normalize,
    query_terms,
)


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


HOSTILE = [
    "a",
    "ß",
    "ﬃ",
    "İ",
    "\ufdfa",
    "\u0315\u0300",
    "\u0f73\u0315",
    "\U0001d165\U0001d1aa",
    "👩\u200d",
    "a.",
    "-",
    "日",
    "QWxhZGRpbjpv+",
    "a\u0301",
]


@pytest.mark.alone
@pytest.mark.parametrize("work", [normalize, index_terms, query_terms, content_words])
@pytest.mark.parametrize("alphabet", HOSTILE, ids=ascii)
def test_twice_the_text_is_about_twice_the_work(work: Callable[[str], object], alphabet: str) -> None:
    """Nothing is quadratic, whatever a pasted text is made of."""
    small, large = alphabet * 4_000, alphabet * 32_000
    assert cpu_s(work, large) < 40 * cpu_s(work, small) + 0.02


def cpu_s(work: Callable[[str], object], text: str) -> float:
    """The least CPU time of this thread that three runs take: the machine is shared."""

    def once() -> float:
        started = time.thread_time()
        work(text)
        return time.thread_time() - started

    return min(once() for _ in range(3))


@pytest.mark.parametrize("alphabet", HOSTILE, ids=ascii)
def test_what_is_made_of_a_query_is_bounded(alphabet: str) -> None:
    """A text pasted as a query gives a bounded number of terms with a bounded number of keys each."""
    terms = query_terms(alphabet * 50_000)
    assert len(terms) <= MAX_QUERY_TERMS
    assert all(len(term.keys) <= MAX_IDENTIFIER_PARTS for term in terms)
    assert sum(map(len, content_words(alphabet * 50_000))) <= MAX_QUERY_CHARS


def test_a_long_chain_is_text_and_no_identifier() -> None:
    """A pasted block of joined parts is looked for by its parts."""
    assert not any(term.identifier for term in query_terms("QWxhZGRp/" * 30 + "b3Blbg"))
