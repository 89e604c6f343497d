"""The day that a memory file speaks of, by its name or its time."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

from backends.corpus import Kind, Located, mtime_ns

_DAY = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_UNDATED = frozenset({Kind.CURATED, Kind.DAILY})


def day_of(relative: str, kind: Kind, mtime_s: float) -> date | None:
    """The date in the file name, else the file's day for sessions and extra folders, else None (curated notes)."""
    return day_in(relative) or (None if kind in _UNDATED else _local_day(mtime_s))


def day_of_file(located: Located) -> date | None:
    """`day_of` by the file's own time; None as well for a file that is gone."""
    if located.root.kind in _UNDATED:
        return day_in(located.relative)
    try:
        return day_of(located.relative, located.root.kind, mtime_ns(located.file.stat()) / 1e9)
    except OSError:
        return None


def _local_day(time_s: float) -> date:
    return datetime.fromtimestamp(time_s, UTC).astimezone().date()


def day_in(name: str) -> date | None:
    """The last date (`YYYY-MM-DD`) in the name of a file."""
    for match in reversed(list(_DAY.finditer(name))):
        try:
            return date(*map(int, match.groups()))
        except ValueError:
            continue
    return None


def in_range(day: date | None, after: date | None, before: date | None) -> bool:
    """Whether a day lies between two inclusive bounds. An undated file lies in no bounded range."""
    if after is None and before is None:
        return True
    return day is not None and (after is None or day >= after) and (before is None or day <= before)
