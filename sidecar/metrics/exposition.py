"""All metrics as text: OpenMetrics where that is asked for, else the older form of Prometheus."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Executor

from sidecar.metrics import of_agents, of_daemon
from sidecar.metrics.metric import Metric, Row
from sidecar.metrics.scene import Scene, Sources, take

METRICS = (*of_agents.METRICS, *of_daemon.METRICS)


async def scrape(sources: Sources, accept: str, pool: Executor) -> tuple[bytes, str]:
    """The text and its media type. A metric that cannot be read is left out, and counted."""
    scene = take(sources)
    return await asyncio.get_running_loop().run_in_executor(pool, _text, scene, accept)


def _text(scene: Scene, accept: str) -> tuple[bytes, str]:
    # Three megabytes and a tenth of a second, for daemons that nobody scrapes.
    from sidecar.metrics.families import text

    return text(lambda: _readable(scene), accept)


def _readable(scene: Scene) -> Iterator[tuple[Metric, list[Row]]]:
    for metric in METRICS:
        try:
            yield metric, list(metric.read(scene))
        except Exception as error:  # noqa: BLE001 - one source must not hide the others
            scene.counts.unreadable(metric.name, error)
