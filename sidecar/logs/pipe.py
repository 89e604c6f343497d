"""The way from the event loop to one sink: a bounded queue and a thread, so that neither waits for the other.

A reader that does not read, or a disk that hangs, stops its own thread alone. Beyond the bound lines are lost and
counted: the sink is told of them as soon as it takes lines again.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from sidecar.logs.entry import Entry
from sidecar.logs.sinks import Sink

log = logging.getLogger(__name__)

#: About two megabytes of lines.
MOST_WAITING = 4_000
#: A full disk is not asked again with every line.
RETRY_S = 5.0
#: How long a thread that has written everything leaves what comes then. One that is woken for each line takes turns
#: with the event loop, which costs more than the line.
GATHER_S = 0.02
#: What a sink that hangs may cost at the end.
CLOSE_TIMEOUT_S = 2.0
#: The event that stands where lines are missing.
LOST = "lines lost"


class Pipe:
    """Entries of `level` and above to one sink, each as `render` gives it, in their order.

    `name` is what a failure of the sink is told under, in the other sinks.
    """

    def __init__(
        self, name: str, sink: Sink, render: Callable[[Entry], str], *, level: int = 0, most: int = MOST_WAITING
    ) -> None:
        self._name = name
        self._sink = sink
        self._render = render
        self._level = level
        self._most = most
        # Not `queue.Queue`: a finalizer that logs inside its lock would wait for itself.
        self._waiting: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()
        self._lost = 0
        self._reopen = threading.Event()
        self._ending = threading.Event()
        self._failed_at: float | None = None
        self._thread = threading.Thread(target=self._run, name=f"log-{name}", daemon=True)
        self._thread.start()

    def put(self, level: int, entry: Entry) -> None:
        """Hand an entry over; never waits."""
        if level < self._level:
            return
        if self._waiting.qsize() >= self._most:
            self._lost += 1
        else:
            self._waiting.put(entry)

    def reopen(self) -> None:
        """Open the sink's file anew before the next line."""
        self._reopen.set()

    def close(self, *, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Write what waits, as far as the sink takes it in time."""
        self._waiting.put(None)
        self._ending.set()
        self._thread.join(timeout_s)

    @property
    def is_alive(self) -> bool:
        """Whether lines are still written."""
        return self._thread.is_alive()

    def _run(self) -> None:
        while (entry := self._waiting.get()) is not None:
            self._write(entry)
            if self._waiting.empty():
                self._ending.wait(GATHER_S)
        self._sink.close()

    def _write(self, entry: Entry) -> None:
        if self._failed_at is not None and time.monotonic() - self._failed_at < RETRY_S:
            self._lost += 1
            return
        try:
            if self._reopen.is_set():
                self._reopen.clear()
                self._sink.reopen()
            self._tell_lost()
            self._sink.write(self._line(entry))
        except OSError as error:
            self._fail(error)
        else:
            self._failed_at = None

    def _tell_lost(self) -> None:
        if lost := self._lost:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            self._sink.write(self._line({"time": now, "level": "warning", "event": LOST, "lines": lost}))
            self._lost -= lost

    def _line(self, entry: Entry) -> bytes:
        return f"{self._render(entry)}\n".encode("utf-8", "backslashreplace")

    def _fail(self, error: OSError) -> None:
        self._lost += 1
        first, self._failed_at = self._failed_at is None, time.monotonic()
        if first:
            log.warning("log not written", extra={"fields": {"log": self._name, "reason": error.strerror}})
