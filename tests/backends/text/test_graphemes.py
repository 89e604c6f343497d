"""Cuts between what a reader sees as characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.text.graphemes import cut_after, cut_before, is_boundary


@pytest.mark.parametrize("cluster", ["é", "👩‍👩‍👧", "❤️", "🇩🇪", "👍🏽", "\u1112\u1161\u11ab", "नि", "1️⃣", "\r\n", "ที่"])
def test_a_cluster_is_not_torn(cluster: str) -> None:
    """Every cut inside a cluster moves to its border."""
    text = f"a{cluster}b"
    for at in range(2, 1 + len(cluster)):
        assert cut_before(text, at) == 1
        assert cut_after(text, at) == 1 + len(cluster)


def test_flags_are_cut_in_pairs() -> None:
    """Between two flags is a border, inside one is none."""
    text = "🇩🇪🇫🇷"
    assert [at for at in range(5) if is_boundary(text, at)] == [0, 2, 4]


@given(st.text(max_size=200), st.integers(0, 250))
def test_cuts_stay_inside_the_text(text: str, at: int) -> None:
    """A cut lies within the text and on its own side of the wish."""
    assert 0 <= cut_before(text, at) <= min(at, len(text))
    assert min(at, len(text)) <= cut_after(text, at) <= len(text)


def test_a_pathological_cluster_is_cut_anyway() -> None:
    """Hundreds of stacked marks do not stop the cutting."""
    assert cut_before("a" + "\u0301" * 500, 300) == 300
