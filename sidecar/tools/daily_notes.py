"""The note of a day: which day it is where the agent's user lives, and what that day's file is called."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Final, Literal, TypeAlias
from zoneinfo import ZoneInfo

#: Tells the time in Unix seconds.
Wall: TypeAlias = Callable[[], float]


#: Stands for a day that is filled in later.
OPEN_DAY: Final = "YYYY-MM-DD"


def today(zone: ZoneInfo, wall: Wall) -> date:
    """The date on the user's calendar."""
    return datetime.fromtimestamp(wall(), zone).date()


def daily_note(day: date | Literal["YYYY-MM-DD"]) -> str:
    """The shown path of the note of a day, which may be left open."""
    return f"memory/{day}.md"
