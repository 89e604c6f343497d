"""The day that a memory file speaks of."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

from backends.corpus import Kind

_DAY = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_UNDATED = frozenset({Kind.CURATED, Kind.DAILY})


def day_of(relative: str, kind: Kind, mtime_s: float) -> date | None:
    """The date in the file name, else the file's day for sessions and extra folders, else None (curated notes)."""
    for match in reversed(list(_DAY.finditer(relative))):
        try:
            return date(*map(int, match.groups()))
        except ValueError:
            continue
    if kind in _UNDATED:
        return None
    return datetime.fromtimestamp(mtime_s, UTC).astimezone().date()


def in_range(day: date | None, after: date | None, before: date | None) -> bool:
    """Whether a day lies between two inclusive bounds. An undated file lies in no bounded range."""
    if after is None and before is None:
        return True
    return day is not None and (after is None or day >= after) and (before is None or day <= before)


_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in _MONTHS)
_SPOKEN = re.compile(
    rf"\b(?:(?P<month>{_MONTH})\.? +(?P<day>\d{{1,2}})(?:st|nd|rd|th)?|(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?"
    rf" +(?:of +)?(?P<month2>{_MONTH})\.?),? +(?P<year>\d{{4}})\b",
    re.IGNORECASE,
)


def spoken_days(text: str) -> list[tuple[date, frozenset[str]]]:
    """The full English dates of a text ("October 13, 2023", "13 Oct 2023"), each with the words that say it."""
    days = []
    for match in _SPOKEN.finditer(text):
        month, day = match["month"] or match["month2"], match["day"] or match["day2"]
        number = next(at for at, name in enumerate(_MONTHS, 1) if name.startswith(month.lower()[:3]))
        try:
            days.append((date(int(match["year"]), number, int(day)), frozenset({month.lower(), day, match["year"]})))
        except ValueError:
            continue
    return days
