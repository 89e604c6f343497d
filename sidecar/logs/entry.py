"""A log record as the mapping that every place renders: `{"time", "level", "event", "logger", ..fields}`."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

import orjson

#: What is no text, number, list or mapping is told as `str` tells it.
_AS_TEXT = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME

Entry: TypeAlias = Mapping[str, Any]

#: The end of a traceback is what tells; journald cuts lines at 48 KB.
MOST_TRACE_CHARS = 8_000
_MOST_FRAMES = 20
#: Never anybody's text; a pattern for numbers would take the time for one.
_OURS = frozenset({"time", "level", "logger"})


def entry_of(record: logging.LogRecord) -> dict[str, Any]:
    """The record with its fields and, for an exception, its `traceback`."""
    head = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "event": record.getMessage(),
        "logger": record.name,
    }
    line = {**head, **getattr(record, "fields", {}), **head}
    if record.exc_info and record.exc_info[1]:
        line["traceback"] = trace(record.exc_info[1])
    return line


def as_json(entry: Entry) -> str:
    """The entry on one line."""
    try:
        return orjson.dumps(entry, default=str, option=_AS_TEXT).decode()
    except orjson.JSONEncodeError:
        # A lone surrogate, or a number of more than 64 bits: slower, and nothing is too odd for it.
        return json.dumps(entry, default=str, ensure_ascii=False, separators=(",", ":"), skipkeys=True)


def parsed(line: str) -> Entry:
    """A line as an entry; whatever is none is the event of one without a time."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return {"event": line}
    return entry if isinstance(entry, dict) else {"event": line}


def trace(error: BaseException) -> str:
    """Where an exception and what led to it were raised, and of which kind they are.

    Their messages are left out: SQLite quotes the query, pydantic the body, and a parser the note.
    """
    return "\n".join(map(_told, reversed([*_led_to(error)])))[-MOST_TRACE_CHARS:]


def redacted(entry: Entry, redact: Callable[[str], str]) -> Entry:
    """The entry without the secrets in its texts."""
    return {key: value if key in _OURS else _without(value, redact) for key, value in entry.items()}


def _without(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: _without(each, redact) for key, each in value.items()}
    return [_without(each, redact) for each in value] if isinstance(value, list | tuple) else value


def _led_to(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _told(error: BaseException) -> str:
    frames = "".join(traceback.format_tb(error.__traceback__, limit=-_MOST_FRAMES))
    inner = [trace(each) for each in error.exceptions] if isinstance(error, BaseExceptionGroup) else []
    kind = type(error)
    why = f": {error.strerror}" if isinstance(error, OSError) and error.errno else ""
    head = f"Traceback (most recent call last):\n{frames}{kind.__module__}.{kind.__qualname__}{why}"
    return "\n".join([head, *inner])
