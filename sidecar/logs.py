"""Logging: one event a line, JSON for machines, plain for a terminal, never query or memory text.

Modules log with the standard library and put their facts into `extra={"fields": {...}}`. Records leave through
a queue, so that a blocked pipe cannot stall the event loop.
"""

from __future__ import annotations

import logging
import logging.handlers
import queue
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

import orjson

from sidecar.errors import StartupError

MAX_FILE_BYTES = 10_000_000
KEPT_FILES = 3
#: Libraries that narrate; their warnings still pass.
QUIET = ("apscheduler", "asyncio", "uvicorn", "watchfiles")


class JsonLines(logging.Formatter):
    """`{"time", "level", "event", "logger", ...fields}` on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """One record as one line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "logger": record.name,
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


class Plain(logging.Formatter):
    """`12:34:56 warning engine failed over reason=timeout`."""

    def format(self, record: logging.LogRecord) -> str:
        """One record as one line, with a traceback below when there is one."""
        clock = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        fields = " ".join(f"{key}={value}" for key, value in getattr(record, "fields", {}).items())
        text = f"{clock} {record.levelname.lower()} {record.getMessage()} {fields}".rstrip()
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def _rotated(file: Path) -> logging.Handler:
    try:
        handler = logging.handlers.RotatingFileHandler(
            file, maxBytes=MAX_FILE_BYTES, backupCount=KEPT_FILES, encoding="utf-8"
        )
    except OSError as error:
        raise StartupError(
            "log_unusable",
            f"cannot write the log {file}: {error.strerror}",
            hint="correct sidecar.log.file",
            exit_code=78,
        ) from error
    handler.setFormatter(JsonLines())
    return handler


@contextmanager
def logging_to(stream: TextIO | None = None, *, level: str = "info", file: Path | None = None) -> Iterator[None]:
    """Log to `stream` (standard error) and, when given, to a rotated file, until the block ends.

    Raises `StartupError` when the file cannot be written.
    """
    stream = stream or sys.stderr
    sinks: list[logging.Handler] = [logging.StreamHandler(stream)]
    sinks[0].setFormatter(Plain() if stream.isatty() else JsonLines())
    if file is not None:
        sinks.append(_rotated(file))
    handler = logging.handlers.QueueHandler(queue.SimpleQueue())
    listener = logging.handlers.QueueListener(handler.queue, *sinks)
    root = logging.getLogger()
    before = root.level, root.handlers
    root.handlers, root.level = [handler], logging.getLevelName(level.upper())
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    listener.start()
    try:
        yield
    finally:
        listener.stop()
        root.level, root.handlers = before
        for sink in sinks[1:]:
            sink.close()


def set_level(level: str) -> None:
    """Log from this level on: `debug`, `info`, `warning` or `error`."""
    logging.getLogger().setLevel(level.upper())
