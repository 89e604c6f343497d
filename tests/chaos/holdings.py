"""What a daemon holds on to: descriptors, threads, children. After a storm it must hold no more than before."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from sidecar.agents.threads import READERS
from tests.running import Running, processes_of

#: Thread pools start their threads when they first need them: this many may come late. A leak has no such limit.
POOL_ROOM = 10
#: And each that reads opens its own view of the index, of up to three descriptors, at its first search.
READER_ROOM = 3 * READERS


@dataclass(frozen=True, slots=True)
class Holdings:
    """Counts at one moment. `strays` are processes that name the daemon's folder and are not in its family."""

    descriptors: int
    threads: int
    children: int
    strays: int

    @classmethod
    def of(cls, daemon: Running) -> Holdings:
        """Count now."""
        process = psutil.Process(daemon.process.pid)
        family = {child.pid for child in process.children(recursive=True)}
        named = {stray.pid for stray in processes_of(str(daemon.state))}
        return cls(process.num_fds(), process.num_threads(), len(family), len(named - family - {process.pid}))

    def within(self, others: Holdings) -> bool:
        """Whether nothing was added. Fewer is fine: an idle child may have been let go."""
        return (
            self.descriptors <= others.descriptors + READER_ROOM
            and self.threads <= others.threads + POOL_ROOM
            and self.children <= others.children
            and not self.strays
        )
