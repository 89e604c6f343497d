"""An entry as people read it, on the daemon's terminal and from `qmd-sidecar logs` alike."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from sidecar.logs.entry import Entry
from sidecar.wording.terminal import Style, printable

_HEAD = ("time", "level", "event", "logger", "traceback")
_WORD = re.compile(r"[^\s\"=]+")


def pretty(entry: Entry, style: Style) -> str:
    """`11-30 12:34:56 warning engine failed over from=qmd reason=timeout`, a traceback below. The time is local."""
    level = str(entry.get("level", ""))
    fields = [f"{key}={_value(value)}" for key, value in entry.items() if key not in _HEAD]
    facts = style.dim(printable(" ".join(fields)))
    parts = [style.dim(_clock(entry)), _paint(level, style)(printable(level)), printable(str(entry.get("event", "")))]
    line = " ".join(filter(None, [*parts, facts]))
    return f"{line}\n{printable(str(entry['traceback']))}" if entry.get("traceback") else line


def moment(entry: Entry) -> datetime | None:
    """When an entry was written; None for a line that is no entry of ours."""
    try:
        found = datetime.fromisoformat(str(entry.get("time")))
    except ValueError:
        return None
    return found if found.tzinfo else None


def _clock(entry: Entry) -> str:
    at = moment(entry)
    return at.astimezone().strftime("%m-%d %H:%M:%S") if at else ""


def _paint(level: str, style: Style) -> Callable[[str], str]:
    return {"debug": style.dim, "info": style.good, "warning": style.warn}.get(level, style.bad)


def _value(value: Any) -> str:
    if isinstance(value, str) and _WORD.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False, default=str, separators=(",", ":"))
