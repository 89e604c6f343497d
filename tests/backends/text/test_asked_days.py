"""The days that a question asks for, in the languages that people ask in."""

from __future__ import annotations

from datetime import date

import pytest

from backends.text.asked_days import asked_days

TODAY = date(2026, 3, 18)  # a Wednesday


def spans(text: str, today: date | None = TODAY) -> list[tuple[str, str]]:
    return [(asked.first.isoformat(), asked.last.isoformat()) for asked in asked_days(text, today)]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("What did she paint on October 13, 2023?", "2023-10-13", "2023-10-13"),
        ("the call of 3rd of May 2025", "2025-05-03", "2025-05-03"),
        ("What happened in February 2026?", "2026-02-01", "2026-02-28"),
        ("2026年2月5日に何があった？", "2026-02-05", "2026-02-05"),
        ("2026年3月产线上发生了什么", "2026-03-01", "2026-03-31"),
        ("Что обсуждали 12 января 2026?", "2026-01-12", "2026-01-12"),
        ("Was war am 3. März 2025?", "2025-03-03", "2025-03-03"),
        ("la reunión del 12 de enero de 2026", "2026-01-12", "2026-01-12"),
        ("what did we do yesterday", "2026-03-17", "2026-03-17"),
        ("what did we do last week", "2026-03-09", "2026-03-15"),
        ("Was haben wir letzte Woche gemacht?", "2026-03-09", "2026-03-15"),
        ("Qu'avons-nous décidé la semaine dernière ?", "2026-03-09", "2026-03-15"),
        ("上周我们做了什么", "2026-03-09", "2026-03-15"),
        ("что было вчера", "2026-03-17", "2026-03-17"),
        ("what was decided last month", "2026-02-01", "2026-02-28"),
        ("notes from 10 days ago", "2026-03-08", "2026-03-08"),
        ("what did we plan in February?", "2026-02-01", "2026-02-28"),
        ("what did we plan in November?", "2025-11-01", "2025-11-30"),
    ],
)
def test_a_question_names_days(text: str, first: str, last: str) -> None:
    """Full dates, months, and what counts from today."""
    assert spans(text) == [(first, last)]


@pytest.mark.parametrize("text", ["may I march on", "October 32, 2023", "the last weekend trip", "0000年13月"])
def test_other_words_name_none(text: str) -> None:
    """Words that look like dates, and dates that no calendar has."""
    assert spans(text) == []


def test_without_a_today_only_full_dates_are_known() -> None:
    """Nobody knows when "yesterday" was."""
    assert spans("yesterday, or on 3 May 2025", None) == [("2025-05-03", "2025-05-03")]


def test_the_first_of_a_year_has_a_week_and_a_month_before_it() -> None:
    """Counting back crosses the year."""
    assert spans("last week and last month", date(2026, 1, 1)) == [
        ("2025-12-22", "2025-12-28"),
        ("2025-12-01", "2025-12-31"),
    ]


def test_the_words_that_say_it_are_terms_of_the_question() -> None:
    """A note of those days holds these words, though it does not say them."""
    (asked,) = asked_days("the tickets of February 2026", TODAY)
    assert asked.words == {"februari", "2026"}
