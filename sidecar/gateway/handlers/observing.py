"""The daemon as it is watched: numbers for a scraper, events for who listens."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from sidecar.gateway.bodies import flag, whole
from sidecar.gateway.streaming import Lines
from sidecar.gateway.view import DaemonView
from sidecar.metrics.exposition import scrape


async def metrics(daemon: DaemonView, request: Request) -> Response:
    """Everything that is measured, for Prometheus.

    OpenMetrics where `Accept` asks for it, else the older text form. docs/metrics.md names every metric.
    """
    text, media_type = await scrape(daemon, request.headers.get("accept", ""))
    return Response(text, headers={"content-type": media_type})


async def events(daemon: DaemonView, request: Request) -> Response:
    """What happens from now on, one JSON object a line, until either side hangs up.

    At most 16 clients listen at once. One that reads slowly is told with `dropped` how many events it missed;
    `heartbeat` comes after 15 quiet seconds. Of agents it tells what a look once a second shows.
    """
    rows = daemon.bus.follow(whole(request, "after"), once=flag(request, "once"))
    return Lines(rows, daemon.listeners.taken(), daemon.changes.watched())
