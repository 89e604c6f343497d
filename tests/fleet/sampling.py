"""Watch what the daemons' children are doing: the process table, read every 50 ms by a thread."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

from tests.running import Running

PERIOD_S = 0.05
#: The verbs of qmd that are counted. A child of a daemon is one run of qmd, however many processes it is made of.
VERBS = ("mcp", "update", "embed")


@dataclass
class Samples:
    """The most children of each verb that were alive at one moment, how often each was seen, and looks in all."""

    most: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    looks: int = 0
    #: Distinct runs of each verb by pid: proof that something happened between two looks.
    runs: dict[str, set[int]] = field(default_factory=lambda: {verb: set() for verb in VERBS})

    def look(self, daemons: Sequence[psutil.Process]) -> None:
        """Take one sample over all daemons together."""
        alive: Counter[str] = Counter()
        for daemon in daemons:
            for pid, verb in _runs(daemon):
                alive[verb] += 1
                self.runs[verb].add(pid)
        self.most |= alive
        self.seen += alive
        self.looks += 1


@contextmanager
def sampled(*daemons: Running) -> Iterator[Samples]:
    """Sample inside the block."""
    samples, over = Samples(), threading.Event()
    processes = [psutil.Process(daemon.process.pid) for daemon in daemons]

    def sample() -> None:
        while not over.wait(PERIOD_S):
            samples.look(processes)

    thread = threading.Thread(target=sample, name="sampler")
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()


def _runs(daemon: psutil.Process) -> Iterator[tuple[int, str]]:
    for child in _children(daemon):
        try:
            words = child.cmdline()
            if child.status() == psutil.STATUS_ZOMBIE:
                continue
        except psutil.Error:
            continue
        # A child that was only just forked still has the daemon's command line, which names no verb.
        yield from ((child.pid, verb) for verb in VERBS if verb in words)


def _children(daemon: psutil.Process) -> list[psutil.Process]:
    try:
        return daemon.children()
    except psutil.Error:
        return []
