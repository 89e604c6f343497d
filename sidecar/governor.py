"""Turn-taking for heavy work, on the whole machine: one embed, two updates, whoever asks first goes first.

Inside a daemon a semaphore is the queue; between daemons of one user lock files in the runtime folder are.
A lock dies with the process that holds it, so nothing can be left locked.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from sidecar.state import runtime_folder

TURNS: Mapping[str, int] = {"embed": 1, "update": 2}
POLL_S = 0.25
#: Longer than the longest embed: a turn that does not come in this time means that something is wrong.
PATIENCE_S = 3600.0


class Governor:
    """Hands out turns. `folder` is shared by every daemon of this user."""

    def __init__(self, folder: Path, turns: Mapping[str, int] = TURNS) -> None:
        self._folder = folder
        self._turns = turns
        self._queues = {work: asyncio.Semaphore(places) for work, places in turns.items()}

    @classmethod
    def of_this_machine(cls, environ: Mapping[str, str]) -> Governor:
        """The governor whose lock files every daemon of this user shares."""
        return cls(runtime_folder(environ))

    @asynccontextmanager
    async def turn(self, work: str) -> AsyncIterator[None]:
        """Hold a turn for `work` inside the block. Raises `TimeoutError` when none comes within `PATIENCE_S`."""
        async with self._queues[work]:
            descriptor = await self._place(work)
            try:
                yield
            finally:
                os.close(descriptor)

    async def _place(self, work: str) -> int:
        files = [self._folder / f"{work}.{place}.lock" for place in range(self._turns[work])]
        give_up_at = time.monotonic() + PATIENCE_S
        while True:
            for file in files:
                descriptor = _try_lock(file)
                if descriptor is not None:
                    return descriptor
            if time.monotonic() > give_up_at:
                raise TimeoutError(f"no turn for {work} in {PATIENCE_S:.0f} s")
            # Random, so that two daemons do not knock in step.
            await asyncio.sleep(POLL_S * random.uniform(0.5, 1.5))  # noqa: S311


def _try_lock(file: Path) -> int | None:
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
