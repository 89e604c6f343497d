"""What a child process logs, as lines of its parent's log: JSON on the child's standard error is read back there."""

from __future__ import annotations

import logging
import sys

from sidecar.logs.entry import as_json, entry_of, parsed

log = logging.getLogger(__name__)

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class _Relay(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes each record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        return as_json(entry_of(record))


def log_to_parent() -> None:
    """Log to standard error, for a parent that hears it with `retell`."""
    logging.basicConfig(level=logging.INFO, handlers=[_Relay(sys.stderr)])


def retell(line: bytes) -> None:
    """Log what a child has logged. What else it prints, or a library of it, is for `debug` alone."""
    text = line.decode("utf-8", errors="replace").rstrip()
    entry = dict(parsed(text))
    level = _LEVELS.get(str(entry.pop("level", "")))
    if level is None:
        log.debug("worker printed", extra={"fields": {"line": text}})
        return
    name, event = str(entry.pop("logger", __name__)), str(entry.pop("event", ""))
    logging.getLogger(name).log(level, event, extra={"fields": entry})
