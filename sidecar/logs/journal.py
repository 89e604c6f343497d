"""The log again, from journald: what `journalctl` says of the unit."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from sidecar.logs.entry import Entry, parsed
from sidecar.logs.places import Where
from sidecar.logs.reading import Wanted, last

#: Of syslog's, by what we call them; `notice` is for those who look at the system.
_LEVELS = ("critical", "critical", "critical", "error", "warning", "info", "info", "debug")
_PRIORITIES = {"debug": "debug", "info": "info", "warning": "warning", "error": "err", "critical": "crit"}


class Journal:
    """The lines of one unit. Raises FileNotFoundError where there is no `journalctl`."""

    def __init__(self, where: Where, *, program: str = "journalctl") -> None:
        manager = ["--user"] if where.of_user else []
        # Without `--all` it leaves out whatever is longer than 4 KB, and so the tracebacks.
        self._command = [program, *manager, "--unit", where.unit, "--output", "json", "--all", "--no-pager", "--quiet"]
        self._cursor: str | None = None

    def latest(self, wanted: Wanted, most: int) -> list[Entry]:
        """The last entries that are wanted, oldest first."""
        since = [f"--since=@{wanted.since.timestamp():.6f}"] if wanted.since else []
        with self._lines("--reverse", f"--priority={_PRIORITIES[wanted.level]}", *since) as lines:
            return last(self._entries(lines, newest_first=True), wanted, most)

    def follow(self) -> Iterator[Entry]:
        """Every later entry; ends when `journalctl` ends."""
        after = [f"--after-cursor={self._cursor}", "--no-tail"] if self._cursor else ["--lines=0"]
        with self._lines("--follow", *after) as lines:
            yield from self._entries(lines, newest_first=False)

    def close(self) -> None:
        """Nothing: `journalctl` is ended with each reading."""

    @contextmanager
    def _lines(self, *arguments: str) -> Iterator[Iterator[bytes]]:
        command: Sequence[str] = [*self._command, *arguments]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            try:
                yield iter(child.stdout)
            finally:
                child.terminate()

    def _entries(self, lines: Iterator[bytes], *, newest_first: bool) -> Iterator[Entry]:
        for line in lines:
            told = parsed(line.decode("utf-8", "replace").rstrip("\n"))
            if not (newest_first and self._cursor):
                self._cursor = str(told.get("__CURSOR") or "") or self._cursor
            yield _entry(told)


def _entry(told: Entry) -> Entry:
    """Our own line out of a line of the journal; systemd's, and the stacks of a crash, as events of their time."""
    message = _message(told.get("MESSAGE"))
    entry = parsed(message)
    if "time" in entry:
        return entry
    at = datetime.fromtimestamp(int(told.get("__REALTIME_TIMESTAMP") or 0) / 1e6, UTC)
    priority = str(told.get("PRIORITY", "6"))
    level = _LEVELS[int(priority)] if priority in "01234567" else "info"
    return {"time": at.isoformat(timespec="milliseconds"), "level": level, "event": message}


def _message(value: Any) -> str:
    """The text; journalctl gives what is no UTF-8, or holds control characters, as a list of bytes."""
    if isinstance(value, list) and all(isinstance(each, int) for each in value):
        return bytes(value).decode("utf-8", "replace")
    return value if isinstance(value, str) else json.dumps(value)
