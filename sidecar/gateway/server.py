"""uvicorn on a socket of ours, without its signal handling and its own logging."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator

import uvicorn
from starlette.types import ASGIApp

from sidecar.gateway.peer import allowed_uids, protocol_for

DRAIN_TIMEOUT_S = 5


class Server(uvicorn.Server):
    """Serves until `should_exit`, then lets requests in progress finish within `DRAIN_TIMEOUT_S`."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the daemon."""
        yield


def server(app: ASGIApp, *, extra_uids: Collection[int] = ()) -> Server:
    """A server for `app` that hangs up on strangers."""
    config = uvicorn.Config(
        app,
        http=protocol_for(allowed_uids(extra_uids)),
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
