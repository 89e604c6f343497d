"""What is asked of which version, and how: the table, the words behind a question, the rooms."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.base import Mode, Source
from backends.corpus import Kind, Root
from backends.qmd import command
from backends.qmd.asking import Ask, calls_of
from backends.qmd.capabilities import Dialect, capabilities_of
from backends.qmd.install import Binary, Install
from backends.qmd.ledger import Ledger
from backends.qmd.rooms import rooms_of
from backends.qmd.terms import Terms, terms_of
from backends.relevance import SampleStatistics
from tests.backends.qmd.making import corpus_of


@pytest.mark.parametrize(
    ("version", "dialect", "typed", "many"),
    [
        ((0, 9, 0), Dialect.WORDS, False, False),
        ((1, 0, 7), Dialect.WORDS, False, False),
        ((1, 1, 6), None, False, False),
        ((2, 0, 1), None, False, False),
        ((2, 1, 0), Dialect.TYPED, True, False),
        ((2, 5, 3), Dialect.TYPED, True, False),
        ((2, 8, 3), Dialect.TYPED, True, True),
        ((3, 0), Dialect.TYPED, True, True),
        ((), Dialect.TYPED, False, False),
    ],
)
def test_the_version_decides(version: tuple[int, ...], dialect: Dialect | None, typed: bool, many: bool) -> None:
    """Newer ones are used like the newest that was tried; one without a version is asked with care."""
    able = capabilities_of(version)
    assert (able.dialect, able.typed, able.many_collections) == (dialect, typed, many)


def test_what_was_never_tried_is_known() -> None:
    """A later version may work, and is not blamed in silence when it does not."""
    binary = Binary(path=Path("/q"), inode=1, mtime_ns=1)
    tried = [Install(binary=binary, version=version).tried for version in ((2, 8, 3), (1, 0), (2, 8, 4), (3,), ())]
    assert tried == [True, True, False, False, False]


def ask(*words: str, scoped: bool = False) -> Ask:
    groups = (("memory-dir",),)
    return Ask(
        terms=Terms(words, " ".join(words)), mode=Mode.SEARCH, groups=groups, rerank=False, deadline_at=0, scoped=scoped
    )


def test_a_resident_before_1_1_is_asked_word_by_word() -> None:
    """Its tool `search` wants all words and takes one collection."""
    calls = calls_of(Dialect.WORDS, ask("one", "two"), Mode.SEARCH, ("a", "b"))
    assert {tool for tool, _ in calls} == {"search"}
    assert [(call["collection"], call["query"]) for _, call in calls] == [
        (name, text) for name in "ab" for text in ("one two", "one", "two")
    ]


def test_a_scope_is_a_phrase_of_the_path() -> None:
    """It keeps the candidates to one collection; names that are split by unknown rules get none."""
    [(_, call)] = calls_of(Dialect.TYPED, ask("one", scoped=True), Mode.SEARCH, ("memory-dir",))
    assert call["searches"] == [{"type": "lex", "query": 'one "memory dir"'}]
    assert (command.scope_of("笔记"), command.scope_of("--")) == ("", "")


def corpus(tmp_path: Path) -> tuple[list[Root], Ledger]:
    roots = [
        Root(name=name, kind=kind, path=tmp_path, patterns=("*.md",), shown=f"qmd/{name}/")
        for name, kind in (("x", Kind.EXTRA), ("y", Kind.EXTRA), ("sessions", Kind.SESSION))
    ]
    owned = {name: ["/", "*"] for name in ("memory-root", "memory-dir", "x", "y", "sessions")}
    return roots, Ledger(owned=owned)


def test_notes_extras_and_sessions_have_rooms_of_their_own(tmp_path: Path) -> None:
    """And each collection has, when one could crowd the others out."""
    roots, ledger = corpus(tmp_path)
    ours = corpus_of(tmp_path, *roots)
    everything = frozenset(Source)
    notes = ("memory-root", "memory-dir")
    assert rooms_of(ours, ledger, everything, apart=False) == (notes, ("x", "y"), ("sessions",))
    assert rooms_of(ours, ledger, everything, apart=True) == tuple((name,) for name in (*notes, "x", "y", "sessions"))
    assert rooms_of(ours, ledger, frozenset({Source.SESSIONS}), apart=True) == (("sessions",),)


def test_an_older_name_is_asked_with_its_root(tmp_path: Path) -> None:
    """Until its files are indexed under the newer one."""
    ledger = Ledger(owned={"memory-dir": ["/", "*"]}, aliases={"memory-dir-main": "memory-dir"})
    groups = rooms_of(corpus_of(tmp_path), ledger, frozenset(Source), apart=False)
    assert groups == (("memory-dir", "memory-dir-main"),)


def test_common_words_are_left_out_where_rarer_ones_are_there() -> None:
    """Two at least, six at most; a word that stands nowhere is asked too, since it costs nothing."""
    texts = [f"everywhere always often {'seldom' if n < 5 else ''} {'rare' if n == 0 else ''}" for n in range(100)]
    statistics = SampleStatistics.of(texts)
    assert terms_of("everywhere often always rare seldom", statistics).words == ("rare", "seldom")
    assert len(terms_of("everywhere often always", statistics).words) == 2
    assert terms_of("everywhere rare seldom unheard", statistics).words == ("rare", "seldom", "unheard")


def test_no_more_than_six_words_are_asked() -> None:
    """The rarest."""
    words = [f"word{n}x" for n in range(9)]
    texts = [" ".join(words[: 9 - n]) for n in range(9)] + ["filler"] * 100
    assert terms_of(" ".join(words), SampleStatistics.of(texts)).words == tuple(reversed(words[3:]))
