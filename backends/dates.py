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
