"""Age, newer statements and diversity, with the published examples."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.passages.ordering import Statement, age_factor, decay, diverse

TODAY = date(2026, 2, 10)


@pytest.mark.parametrize(("age_days", "left"), [(0, 1.0), (7, 0.85), (30, 0.5), (90, 0.125), (148, 0.03), (180, 0.016)])
def test_what_age_leaves_of_relevance(age_days: int, left: float) -> None:
    """With the half-life of 30 days."""
    assert decay(age_days, 30) == pytest.approx(left, abs=0.005)


def test_a_working_schedule_of_today_goes_before_a_better_match_of_last_autumn() -> None:
    """The published example: 0.91 of 148 days ago falls behind 0.82 of today and 0.80 of last week."""
    ages = {"2026-02-10": (0.82, 0), "2026-02-03": (0.80, 7), "2025-09-15": (0.91, 148)}
    left = {day: score * decay(age, 30) for day, (score, age) in ages.items()}
    assert sorted(left, key=lambda day: -left[day]) == list(ages)
    assert [round(score, 2) for score in left.values()] == [0.82, 0.68, 0.03]


def test_what_has_no_date_does_not_age() -> None:
    """`MEMORY.md`, notes with a name instead of a date, what is to come; and nothing does without a half-life."""
    assert age_factor(None, TODAY, 30) == 1.0
    assert age_factor(TODAY + timedelta(days=3), TODAY, 30) == 1.0
    assert age_factor(TODAY - timedelta(days=300), TODAY, None) == 1.0


HOME_NETWORK = {
    "memory/2026-02-10.md": (0.92, "Configured Omada router, set VLAN 10 for IoT devices"),
    "memory/2026-02-08.md": (0.89, "Configured Omada router, moved IoT to VLAN 10"),
    "memory/network.md": (0.85, "Router: Omada ER605, AdGuard: 192.168.10.2, VLAN 10: IoT"),
    "memory/2026-02-05.md": (0.78, "Set up AdGuard DNS on 192.168.10.2"),
}


def reordered(weight: float) -> list[str]:
    scores, texts = zip(*HOME_NETWORK.values(), strict=True)
    return [list(HOME_NETWORK)[at] for at in diverse(texts, scores, weight)]


def test_a_near_duplicate_leaves_the_first_three() -> None:
    """The published example with its weight of 0.7: the router of two days earlier goes."""
    assert set(reordered(0.7)[:3]) == {"memory/2026-02-10.md", "memory/network.md", "memory/2026-02-05.md"}


def test_relevance_alone_keeps_the_order() -> None:
    """A weight of 1 asks for no diversity."""
    assert reordered(1.0) == list(HOME_NETWORK)


@given(st.lists(st.text(max_size=20), max_size=12), st.floats(0, 1))
def test_reordering_loses_nothing(texts: list[str], weight: float) -> None:
    """Every passage has exactly one place, and the first stays first."""
    order = diverse(texts, [1 - at / 100 for at in range(len(texts))], weight)
    assert sorted(order) == list(range(len(texts)))
    assert order[:1] == ([0] if texts and weight else order[:1])


def statement(day: date | None, words: str, score: float = 0.8, asked: tuple[int, ...] = (1, 2)) -> Statement:
    return Statement(day, words, dict.fromkeys(asked, 0.5), score)


PORT_IN_MAY = statement(date(2026, 5, 6), "exporter listens port 8080")


@pytest.mark.parametrize(
    ("newer", "outdates"),
    [
        (statement(date(2026, 6, 10), "exporter moved port 9090"), True),
        (statement(date(2026, 4, 1), "exporter moved port 9090"), False),
        (statement(None, "exporter moved port 9090"), False),
        (statement(date(2026, 6, 10), "harbour has a nice restaurant"), False),
        (statement(date(2026, 6, 10), "exporter moved port 9090", score=0.4), False),
        (statement(date(2026, 6, 10), "exporter moved port 9090", asked=(1,)), False),
    ],
    ids=["newer", "older", "undated", "another fact", "much less relevant", "another question"],
)
def test_a_newer_word_on_the_same_fact(newer: Statement, outdates: bool) -> None:
    """Same question, about as relevant, words in common, and a later day."""
    assert newer.outdates(PORT_IN_MAY) is outdates
