"""Importance annotations: the factor, and the lines that it is said of."""

from __future__ import annotations

import time

import pytest

from backends.text.annotations import factor_of, importances


def ranges(text: str) -> list[tuple[int, int, float]]:
    return [(said.first, said.last, round(said.factor, 2)) for said in importances(text.splitlines())]


@pytest.mark.parametrize(("importance", "factor"), [(1, 0.8), (5, 1.0), (10, 1.25), (0, 1.0), (11, 1.0)])
def test_importance_is_a_factor_around_one(importance: int, factor: float) -> None:
    """`0.75 + 0.05 n` for 1..10; other numbers say nothing."""
    assert factor_of(importance) == pytest.approx(factor)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n- b <!-- importance: 9 -->\n  more of b\n- c\n", (2, 3, 1.2)),
        ("- a\n  - b <!-- importance: 9 -->\n    deep\n  - c\n", (2, 3, 1.2)),
        ("one\ntwo <!-- importance: 9 -->\nthree\n\nfour\n", (1, 3, 1.2)),
        ("# A\n\n## B <!-- importance: 9 -->\ntext\n### C\ntext\n## D\n", (3, 6, 1.2)),
        ("# A\n<!-- importance: 9 -->\ntext\n\nmore\n# B\n", (1, 5, 1.2)),
        ("- a\n- b\n  <!-- importance: 9 -->\n- c\n", (2, 3, 1.2)),
        ("text\n\n<!-- importance: 9 -->\nsaid of this\n", (3, 4, 1.2)),
        ("<!-- importance: 9 -->", (1, 1, 1.2)),
    ],
    ids=["item", "inner item", "paragraph", "section", "under a heading", "end of an item", "before", "nothing"],
)
def test_an_annotation_belongs_to_what_it_stands_in(text: str, expected: tuple[int, int, float]) -> None:
    """The list item, paragraph or heading section, whichever is around it."""
    assert ranges(text) == [expected]


def test_neutral_and_broken_annotations_say_nothing() -> None:
    """An importance of 5, none, or one that is no number."""
    assert ranges("a <!-- importance: 5 -->\nb <!-- importance: high -->\nc <!-- importance 9 -->\n") == []


def test_the_narrower_annotation_comes_last() -> None:
    """An item in a section has an importance of its own; whoever reads in order ends with that."""
    assert ranges("# A <!-- importance: 9 -->\n- a\n- b <!-- importance: 1 -->\n") == [(1, 3, 1.2), (3, 3, 0.8)]


def test_a_paragraph_has_one_importance() -> None:
    """The first one that is said of it, however often it is said."""
    assert ranges("a <!-- importance: 9 -->\nb <!-- importance: 1 -->\n" * 3) == [(1, 6, 1.2)]


@pytest.mark.alone
def test_a_paragraph_full_of_annotations_is_read_once() -> None:
    """Eight times as many lines cost about eight times as much."""

    def cost_s(lines: int) -> float:
        text = "a <!-- importance: 9 -->\n" * lines
        started = time.thread_time()
        ranges(text)
        return time.thread_time() - started

    assert min(cost_s(4000) for _ in range(3)) < 25 * min(cost_s(500) for _ in range(3))
