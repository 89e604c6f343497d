"""The note of a day: which day it is where the agent's user lives, and what that day's file is called."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import TypeAlias
from zoneinfo import ZoneInfo

#: Tells the time in Unix seconds.
Wall: TypeAlias = Callable[[], float]


def today(zone: ZoneInfo, wall: Wall) -> date:
    """The date on the user's calendar."""
    return datetime.fromtimestamp(wall(), zone).date()


def daily_note(day: date) -> str:
    """The shown path of a day's note."""
    return f"memory/{day.isoformat()}.md"
