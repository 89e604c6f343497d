"""Whether an agent's workspace is there, as a thread saw it last.

A network disk that is gone answers nobody, for hours: whoever looks hangs. So each look has a thread of its own, of
which there is one at a time, and nobody waits for it for longer than a moment.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

#: A disk that is well answers within a fraction of this.
PATIENCE_S = 0.1
#: What was seen is good for so long.
FRESH_S = 1.0
#: A look that takes longer is told.
SILENT_S = 2.0


class Presence:
    """Of one folder. `is_there` is asked on a thread; `clock` is monotonic, in seconds."""

    def __init__(
        self,
        folder: Path,
        *,
        is_there: Callable[[Path], bool] = os.path.isdir,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._is_there = is_there
        self._clock = clock
        self._looked_at: float | None = None
        self._looking = False
        #: False once it was seen to be missing.
        self.seen = True

    @property
    def silent(self) -> bool:
        """Whether the disk has not answered for some time."""
        return self._looking and self._age_s() > SILENT_S

    async def look(self) -> None:
        """Look anew, unless that was done a moment ago. Waits briefly; what is seen later is known from then on."""
        if self._looking or self._age_s() < FRESH_S:
            return
        seen = asyncio.Event()
        told = asyncio.get_running_loop(), seen
        threading.Thread(target=self._look, args=told, daemon=True, name="presence").start()
        self._looking, self._looked_at = True, self._clock()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await seen.wait()

    def _age_s(self) -> float:
        return float("inf") if self._looked_at is None else self._clock() - self._looked_at

    def _look(self, loop: asyncio.AbstractEventLoop, seen: asyncio.Event) -> None:
        there = self._is_there(self._folder)
        # The loop may have ended meanwhile.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._saw, there, seen)

    def _saw(self, there: bool, seen: asyncio.Event) -> None:
        self.seen, self._looking = there, False
        seen.set()


async def look_at(folders: Iterable[Presence]) -> None:
    """Look at all of them at once."""
    await asyncio.gather(*(folder.look() for folder in folders))
