"""How much memory the daemon and its worker take once an index has been searched."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from tests.bench.indexed import Indexed
from tests.bench.timing import at_most

TOGETHER_MB = {100_000: 350.0}
DAEMON, WORKER = "daemon", "worker"


@dataclass(frozen=True, slots=True)
class Taken:
    """Megabytes of one process: resident; its share of what is shared, None where the system does not tell; its own."""

    rss: float
    pss: float | None
    own: float

    def row(self, name: str) -> str:
        """One line of the table."""
        share = "" if self.pss is None else f"   share {self.pss:7.1f} MB"
        return f"  {name:<34} rss {self.rss:7.1f} MB{share}   own {self.own:7.1f} MB"


def measure(index: Indexed) -> dict[str, Taken]:
    """What each process of the daemon takes, by name."""
    daemon = psutil.Process(index.daemon.process.pid)
    worker = psutil.Process(index.daemon.call("GET", "/v1/status")["worker"]["pid"])
    return {DAEMON: _taken(daemon), WORKER: _taken(worker)}


def _taken(process: psutil.Process) -> Taken:
    info = process.memory_full_info()
    pss = getattr(info, "pss", None)
    return Taken(info.rss / 2**20, None if pss is None else pss / 2**20, info.uss / 2**20)


def report(size: int, taken: dict[str, Taken]) -> bool:
    """Print the table of one size and say whether the target was met."""
    print(f"memory: about {size:,} chunks, after searches")
    for name, process in taken.items():
        print(process.row(name))
    together = sum(process.rss for process in taken.values())
    if size in TOGETHER_MB:
        met = at_most("rss together", together, TOGETHER_MB[size], "MB")
    else:
        met = True
        print(f"       rss together: {together:.1f} MB")
    print(flush=True)
    return met
