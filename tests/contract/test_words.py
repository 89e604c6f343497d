"""What is typed and what it finds: questions, identifiers, operators, names of files, and nothing at all."""

from __future__ import annotations

import pytest

from tests.contract.desk import Desk
from tests.contract.notes import COPIES, DEPLOY, NAMES, PETS, TICKETS, VITAMIN_C


@pytest.mark.parametrize(
    "question",
    [
        "what is the deploy codeword for the staging cluster, please?",
        "how many people does a rollback of the website need",
    ],
    ids=["codeword", "rollback"],
)
def test_a_question_is_answered_although_not_every_word_stands_in_the_note(library: Desk, question: str) -> None:
    """The note that answers comes first, and what is shown holds the answer."""
    best = library.best(question)
    assert best.path == DEPLOY
    assert "The deploy codeword is zebracomet, kept by Ines.\nRollbacks need two people." in best.snippet


@pytest.mark.parametrize(
    ("query", "stands"),
    [
        ("PIO-1384", "PIO-1384"),
        ('what about "PIO-1384"', "PIO-1384"),
        ("v2026.4.10", "v2026.4.10"),
        ("apply_secrets", "apply_secrets"),
        ("/etc/foo.conf", "/etc/foo.conf"),
        ("alice@example.com", "alice@example.com"),
    ],
    ids=["ticket", "quoted", "version", "function", "file", "mail"],
)
def test_an_identifier_is_found_as_typed(library: Desk, query: str, stands: str) -> None:
    """A note that holds its parts, or a longer identifier that begins with it, comes behind."""
    best, *others = library.answer(query).hits
    assert best.path == TICKETS
    assert stands in best.snippet
    assert all(other.score < best.score for other in others)


@pytest.mark.parametrize(
    "query",
    [
        'zebracomet "and then',
        "- zebracomet\n- rollbacks\n* codeword\n1. people",
        "zebracomet AND NOT (rollbacks OR people)",
        "NOT zebracomet",
        "NEAR(zebracomet* codeword, 3)",
        "--help -zebracomet",
        "lex: zebracomet\nvec: noise",
        "zebracomet'); DROP -- title:\"",
    ],
    ids=["quote", "list", "and-or", "not", "near", "minus", "typed", "sql"],
)
def test_operators_are_text(library: Desk, query: str) -> None:
    """Whatever a query looks like, the note with its rare word comes first."""
    assert library.paths(query)[:1] == [DEPLOY]


@pytest.mark.parametrize("query", ["parakeet", "parakeets", "hamsters"])
def test_singular_and_plural_find_each_other(library: Desk, query: str) -> None:
    assert library.paths(query) == [PETS]


def test_case_does_not_matter(library: Desk) -> None:
    assert library.paths("ZEBRAcomet KEPT BY iNES")[:1] == [DEPLOY]


def test_files_of_equal_text_are_both_found(library: Desk) -> None:
    """A copy is a file of its own."""
    assert sorted(library.paths("spoonbill")) == list(COPIES)


@pytest.mark.parametrize("query", ["C", "vitamin C"])
def test_a_word_of_one_letter_is_a_word(library: Desk, query: str) -> None:
    assert library.paths(query)[:1] == [VITAMIN_C]


@pytest.mark.parametrize("query", ["frumious bandersnatch", "量子纠缠", "PIO-7777777"])
def test_nonsense_finds_nothing_and_that_is_the_whole_answer(library: Desk, query: str) -> None:
    """Nothing in the notes speaks of it: empty, and not because something was late."""
    answer = library.answer(query)
    assert (answer.hits, answer.partial) == ((), False)


@pytest.mark.parametrize("query", ["", " \t\n\u3000 ", "🦓☄️🎉", "?!… -- \"' (*)", "\0\0"])
def test_a_query_without_a_word_finds_nothing(library: Desk, query: str) -> None:
    answer = library.answer(query)
    assert (answer.hits, answer.partial) == ((), False)


@pytest.mark.parametrize(
    "query",
    [
        "zebracomet " + "x" * 10_000,
        "zebracomet " * 1_000,
        "zebra\0comet zebracomet\0",
        "zebracomet \ud83d",
        "🦓zebracomet☄️",
    ],
    ids=["long-word", "long-text", "nul", "surrogate", "emoji"],
)
def test_an_odd_query_finds_the_word_in_it(library: Desk, query: str) -> None:
    """Ten thousand characters, NUL, half a character: the word still counts."""
    assert library.paths(query, min_score=0.1)[:1] == [DEPLOY]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_any_name_is_found_and_opens(library: Desk, name: str) -> None:
    """Spaces, Unicode, brackets, signs: the path of the hit is the file's, and leads to it."""
    word = NAMES[name]
    best = library.best(word)
    assert best.path == name
    assert library.lines(best.path) == [f"The {word} hides a spare key."]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("memory/projects/falcon.md", "memory/projects/falcon.md"),
        ("projects/falcon.md", "memory/projects/falcon.md"),
        ("memory/falcon.md", "memory/falcon.md"),
        ("falcon.md", "memory/falcon.md"),
        ("falcon-budget", "memory/projects/falcon-budget.md"),
    ],
    ids=["path", "tail", "short-path", "base", "stem"],
)
def test_the_name_of_a_file_puts_it_first(library: Desk, query: str, first: str) -> None:
    """The exact path before the base name, that before the stem; the text need not repeat any of it."""
    assert library.paths(query)[:1] == [first]


def test_a_word_finds_the_files_that_are_called_so(library: Desk) -> None:
    """Those whose whole name it is come before one whose name holds more."""
    found = library.paths("falcon")
    assert sorted(found[:2]) == ["memory/falcon.md", "memory/projects/falcon.md"]
    assert found[2:] == ["memory/projects/falcon-budget.md"]


def test_a_name_completes_what_the_text_says(library: Desk) -> None:
    """One word of the query stands in the name, the other in the text."""
    assert library.paths("falcon foundry")[:1] == ["memory/projects/falcon.md"]
