"""Index jobs take turns with this process's interpreter, and give theirs up while they wait for something else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from backends.builtin.heartbeat import HEARTBEAT_S


class Turn:
    """One job computes at a time: two would only slow each other, and every question, down."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @contextmanager
    def taken(self, alive: Callable[[], None]) -> Iterator[None]:
        """Within, it is ours. `alive` is called while others have it."""
        self._take(alive)
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def given_up(self, alive: Callable[[], None]) -> Iterator[None]:
        """Within, others may have it; it was ours, and is again afterwards."""
        self._lock.release()
        try:
            yield
        finally:
            self._take(alive)

    def _take(self, alive: Callable[[], None]) -> None:
        while not self._lock.acquire(timeout=HEARTBEAT_S):
            alive()
