"""What a daemon holds and what it writes, looked at again and again while it lives."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.chaos.holdings import Holdings
from tests.running import Running, alongside
from tests.soak.growth import Trend

MB = 2**20
#: By how much each figure may rise while it is watched: pools that fill up late, and the processes of one moment.
ROOM = {"rss_mb": 8.0, "descriptors": 12.0, "threads": 16.0, "processes": 2.0}
#: How often the writes of children are read that may end at any time, in seconds.
IO_PERIOD_S = 0.2


@dataclass
class Watched:
    """Samples of one daemon: seconds since the first look, and each figure at that time."""

    times_s: list[float] = field(default_factory=list)
    figures: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in ROOM})
    #: The largest write-ahead log that any index ever had, in bytes.
    wal_bytes: int = 0

    def look(self, daemon: Running, now_s: float) -> None:
        """Take one sample."""
        holdings = Holdings.of(daemon)
        rss = psutil.Process(daemon.process.pid).memory_info().rss / MB
        now = (rss, holdings.descriptors, holdings.threads, holdings.children + holdings.strays)
        self.times_s.append(now_s)
        for values, value in zip(self.figures.values(), now, strict=True):
            values.append(value)
        self.wal_bytes = max([self.wal_bytes, *_sizes(daemon.state)])

    def trends(self, since_s: float) -> dict[str, Trend]:
        """How each figure moved from then on."""
        first = next(number for number, time_s in enumerate(self.times_s) if time_s >= since_s)
        return {name: Trend.of(self.times_s[first:], values[first:]) for name, values in self.figures.items()}


@contextmanager
def watched(daemon: Running, period_s: float) -> Iterator[Watched]:
    """Look inside the block, every `period_s` seconds."""
    samples, over, started = Watched(), threading.Event(), time.monotonic()

    def look() -> None:
        while not over.wait(period_s):
            samples.look(daemon, time.monotonic() - started)

    with alongside(look, over):
        yield samples


def written_bytes(daemon: Running, seconds: float) -> int:
    """What the daemon and its children write to disk in that time."""
    before, after = _writes(daemon), {}
    give_up_at = time.monotonic() + seconds
    while time.monotonic() < give_up_at:
        time.sleep(IO_PERIOD_S)
        after |= _writes(daemon)
    return sum(count - before.get(pid, 0) for pid, count in after.items())


def _writes(daemon: Running) -> dict[int, int]:
    found = {}
    process = psutil.Process(daemon.process.pid)
    for member in (process, *process.children(recursive=True)):
        with suppress(psutil.Error):
            found[member.pid] = member.io_counters().write_bytes
    return found


def _sizes(state: Path) -> Iterator[int]:
    for file in state.rglob("*-wal"):
        with suppress(FileNotFoundError):
            yield file.stat().st_size
