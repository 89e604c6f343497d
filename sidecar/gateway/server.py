"""uvicorn on a socket of ours, without its signal handling and its own logging."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

DRAIN_TIMEOUT_S = 5


class Server(uvicorn.Server):
    """Serves until `should_exit`, then lets requests in progress finish within `DRAIN_TIMEOUT_S`."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the daemon."""
        yield


def server(app: ASGIApp, protocol: type[H11Protocol], *, most: int | None = None) -> Server:
    """A server for `app` that speaks `protocol`, with `most` connections at once where that is bounded."""
    config = uvicorn.Config(
        app,
        http=protocol,
        limit_concurrency=most,
        ws="none",
        lifespan="off",
        loop="none",
        interface="asgi3",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=DRAIN_TIMEOUT_S,
    )
    return Server(config)
