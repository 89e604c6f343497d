"""Durations and sizes as people write them: `5m`, `1h30m`, `2mb`, or a bare number."""

from __future__ import annotations

import re
from typing import Final

_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES: Final = {"": 1, "b": 1, "k": 1024, "kb": 1024, "m": 1024**2, "mb": 1024**2, "g": 1024**3, "gb": 1024**3}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?b?)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")

#: A hundred years: more is a slip of the finger, and would overflow the timers below us.
MAX_S: Final = 3.2e9


def seconds(value: object, *, bare: str = "m") -> float:
    """The length of a duration in seconds, to the millisecond; a bare number counts `bare` units.

    Compound values stand together, each part with its unit (`1h30m`). Raises ValueError.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("a duration is a number of minutes or a text like 30s, 5m, 1h30m")  # noqa: TRY004
    text = str(value).strip().lower()
    total = float(text) * _SECONDS[bare] if _NUMBER.fullmatch(text) else _sum(text)
    if not total <= MAX_S:
        raise ValueError("the duration is longer than a hundred years")
    return round(total, 3)


def _sum(text: str) -> float:
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError("not a duration: write 30s, 5m, 1h30m, or a number of minutes")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def size_bytes(value: object) -> int:
    """A size in bytes from a number or a text like `2mb` (1024-based). Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("a size is a number of bytes or a text like 2mb")  # noqa: TRY004
    match = _SIZE.fullmatch(str(value).strip().lower())
    if match is None:
        raise ValueError("not a size: write a number of bytes, or 500kb, 2mb, 1gb")
    return int(float(match[1]) * _BYTES[match[2]])
