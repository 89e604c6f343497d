"""Importance annotations: the factor, and the lines that it is said of."""

from __future__ import annotations

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
