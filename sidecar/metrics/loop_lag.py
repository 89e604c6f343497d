"""How late the event loop is: everything that is asked waits as long."""

from __future__ import annotations

import asyncio

from sidecar.metrics.tally import Histogram

INTERVAL_S = 2.0


async def measure(lags: Histogram, *, interval_s: float = INTERVAL_S) -> None:
    """Observe, for ever, by how many seconds a sleep was longer than it should have been."""
    loop = asyncio.get_running_loop()
    while True:
        due_at = loop.time() + interval_s
        await asyncio.sleep(interval_s)
        lags.observe(max(0.0, loop.time() - due_at))
