"""All metrics as text: OpenMetrics where that is asked for, else the older form of Prometheus."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from sidecar.agents import look_at
from sidecar.metrics import of_agents, of_daemon
from sidecar.metrics.metric import Metric, Row
from sidecar.metrics.scene import Scene, Sources, take

METRICS = (*of_agents.METRICS, *of_daemon.METRICS)


async def scrape(sources: Sources, accept: str) -> tuple[bytes, str]:
    """The text and its media type. A metric that cannot be read is left out, and counted."""
    await look_at(agent.workspace for agent in sources.fleet)
    # Not in a pool whose threads read files: a dead disk may hold them all.
    return await asyncio.to_thread(_text, take(sources), accept)


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
