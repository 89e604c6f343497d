"""The days that a question asks for: "on October 13, 2023", "in February", "last week", "上周", "gestern"."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from backends.text.tokens import normalize, query_terms


@dataclass(frozen=True, slots=True)
class AskedDays:
    """The days `first..last` (inclusive), and the terms of the question that say so."""

    first: date
    last: date
    words: frozenset[str]

    def holds(self, day: date) -> bool:
        """Whether a day is among them."""
        return self.first <= day <= self.last


@lru_cache(maxsize=64)
def asked_days(text: str, today: date | None) -> tuple[AskedDays, ...]:
    """Every span of days that a question names; what counts from today is left out where today is not known."""
    normalized = normalize(text)
    found = [AskedDays(first, last, _terms(said)) for first, last, said in _named(normalized)]
    if today is not None:
        found += [AskedDays(first, last, _terms(said)) for first, last, said in _relative(normalized, today)]
    return tuple(found)


def _terms(said: str) -> frozenset[str]:
    return frozenset(term.text for term in query_terms(said))


_MONTH_NAMES = (
    "january januar janvier enero январь января январе",
    "february februar fevrier febrero февраль февраля феврале",
    "march marz mars marzo март марта марте",
    "april avril abril апрель апреля апреле",
    "may mai mayo май мая мае",
    "june juni juin junio июнь июня июне",
    "july juli juillet julio июль июля июле",
    "august aout agosto август августа августе",
    "september septembre septiembre сентябрь сентября сентябре",
    "october oktober octobre octubre октябрь октября октябре",
    "november novembre noviembre ноябрь ноября ноябре",
    "december dezember decembre diciembre декабрь декабря декабре",
)
_SHORT_NAMES = "jan feb mar apr jun jul aug sep oct nov dec"
_MONTHS = {normalize(name): number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
# May is short already.
_MONTHS |= zip(_SHORT_NAMES.split(), (1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12), strict=True)
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE = re.compile(
    rf"\b(?:(?P<month>{_MONTH})\.?(?: +(?P<day>\d{{1,2}})(?:st|nd|rd|th)?)?|(?P<day2>\d{{1,2}})(?:st|nd|rd|th|\.)?"
    rf" +(?:(?:of|de) +)?(?P<month2>{_MONTH})\.?),?(?: +(?:de|del))? +(?P<year>\d{{4}})\b"
)
_CJK_DATE = re.compile(r"(?P<year>\d{4})年(?:(?P<month>\d{1,2})月(?:(?P<day>\d{1,2})日)?)?")

Days = tuple[date, date, str]


def _named(text: str) -> Iterator[Days]:
    for match in _DATE.finditer(text):
        yield from _span(
            match["year"], _MONTHS[match["month"] or match["month2"]], match["day"] or match["day2"], match
        )
    for match in _CJK_DATE.finditer(text):
        yield from _span(match["year"], int(match["month"] or 0), match["day"], match)


def _span(year: str, month: int, day: str | None, said: re.Match[str]) -> Iterator[Days]:
    try:
        first = date(int(year), month or 1, int(day or 1))
        last = first if day else _end_of_month(first) if month else date(first.year, 12, 31)
    except ValueError:
        return
    yield first, last, said.group()


def _end_of_month(day: date) -> date:
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def _relative(text: str, today: date) -> Iterator[Days]:
    for match in _SPOKEN.finditer(text):
        first, last = _SPANS[_MEANINGS[match.group()]](today)
        yield first, last, match.group()
    for match in _AGO.finditer(text):
        yield _days_ago(today, int(match["n"])), _days_ago(today, int(match["n"])), match.group()
    for match in _BARE_MONTH.finditer(text):
        first = _newest(today, _MONTHS[match["month"]])
        yield first, _end_of_month(first), match["month"]


def _newest(today: date, month: int) -> date:
    """The first day of the newest month of that number that has begun."""
    return date(today.year if month <= today.month else today.year - 1, month, 1)


def _days_ago(today: date, days: int) -> date:
    return today - timedelta(days=min(days, 20_000))


def _week(today: date, weeks_ago: int) -> tuple[date, date]:
    monday = today - timedelta(days=today.weekday() + 7 * weeks_ago)
    return monday, monday + timedelta(days=6)


def _month_before(today: date) -> tuple[date, date]:
    last = today.replace(day=1) - timedelta(days=1)
    return last.replace(day=1), last


_SPANS: Mapping[str, Callable[[date], tuple[date, date]]] = {
    "today": lambda today: (today, today),
    "yesterday": lambda today: (_days_ago(today, 1), _days_ago(today, 1)),
    "two days ago": lambda today: (_days_ago(today, 2), _days_ago(today, 2)),
    "this week": lambda today: _week(today, 0),
    "last week": lambda today: _week(today, 1),
    "this month": lambda today: (today.replace(day=1), _end_of_month(today)),
    "last month": _month_before,
    "this year": lambda today: (date(today.year, 1, 1), date(today.year, 12, 31)),
    "last year": lambda today: (date(today.year - 1, 1, 1), date(today.year - 1, 12, 31)),
}
#: How people say it, normalised.
_WORDINGS: Mapping[str, tuple[str, ...]] = {
    "today": ("today", "heute", "aujourd'hui", "hoy", "сегодня", "今天", "今日", "오늘"),
    "yesterday": ("yesterday", "gestern", "hier", "ayer", "вчера", "昨天", "昨日", "어제"),
    "two days ago": ("vorgestern", "avant-hier", "anteayer", "позавчера", "前天", "一昨日", "그저께"),
    "this week": ("this week", "diese woche", "cette semaine", "esta semana", "на этой неделе", "本周", "这周", "今週"),
    "last week": (
        *("last week", "past week", "letzte woche", "la semaine derniere", "la semana pasada"),
        *("на прошлой неделе", "上周", "上个星期", "先週", "지난주"),
    ),
    "this month": ("this month", "diesen monat", "ce mois-ci", "este mes", "в этом месяце", "本月", "这个月", "今月"),
    "last month": (
        *("last month", "past month", "letzten monat", "le mois dernier", "el mes pasado"),
        *("в прошлом месяце", "上个月", "上月", "先月", "지난달"),
    ),
    "this year": ("this year", "dieses jahr", "cette annee", "este ano", "в этом году", "今年"),
    "last year": ("last year", "letztes jahr", "l'annee derniere", "el ano pasado", "в прошлом году", "去年", "昨年"),
}
_MEANINGS = {normalize(wording): meaning for meaning, wordings in _WORDINGS.items() for wording in wordings}
_SPOKEN = re.compile(
    "|".join(
        rf"\b{re.escape(wording)}\b" if wording < "\u2e80" else re.escape(wording)
        for wording in sorted(_MEANINGS, key=len, reverse=True)
    )
)
_AGO = re.compile(r"\b(?P<n>\d{1,4}) days? ago\b")
# "may" and "march" are words, too: only after a preposition.
_BARE_MONTH = re.compile(rf"\b(?:in|during|since|last|im|en|в) (?P<month>{_MONTH})\b(?!\.? +\d)")
