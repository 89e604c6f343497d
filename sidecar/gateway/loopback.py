"""A second door for scrapers that cannot use a Unix socket: numbers and health, on this machine, and nothing else."""

from __future__ import annotations

import asyncio
import logging
import socket
from functools import partial
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from backends.base import Notice
from sidecar.config.loopback import address, is_local_request
from sidecar.gateway.handlers import observing, service
from sidecar.gateway.peer import Patient
from sidecar.gateway.server import server
from sidecar.gateway.view import DaemonView

log = logging.getLogger(__name__)

RETRY_S = 30.0
_MOST_CONNECTIONS = 8
_HANDLERS = {"/metrics": observing.metrics, "/livez": service.livez, "/readyz": service.readyz}


class Loopback:
    """Listens at `listen` (`host:port`), or nowhere. What is taken is tried again every `retry_s` seconds."""

    def __init__(self, listen: str | None, *, retry_s: float = RETRY_S) -> None:
        self._listen = listen
        self._retry_s = retry_s
        self._notice: Notice | None = None

    def told(self) -> tuple[Notice, ...]:
        """Why nobody is listened to at the address, while that is so."""
        return (self._notice,) if self._notice else ()

    async def run(self, daemon: DaemonView) -> None:
        """Serve until cancelled. An address that is taken is tried again: the daemon itself needs none."""
        place = address(self._listen) if self._listen else None
        if place is None:
            return None
        while True:
            sock = self._bound(place)
            if sock is not None:
                with sock:
                    return await _serve(application(daemon), sock)
            await asyncio.sleep(self._retry_s)

    def _bound(self, place: tuple[str, int]) -> socket.socket | None:
        family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
        try:
            sock = socket.create_server(place, family=family)
        except OSError as error:
            if self._notice is None:
                log.warning("metrics are not listened for", extra={"fields": {"reason": error.strerror}})
            message = f"sidecar.metrics.listen: {self._listen} cannot be used: {error.strerror}"
            self._notice = Notice("metrics_unreachable", message, "choose another port, or read /metrics on the socket")
            return None
        self._notice = None
        sock.setblocking(False)
        return sock


async def _serve(app: ASGIApp, sock: socket.socket) -> None:
    running = server(app, Patient, most=_MOST_CONNECTIONS)
    serving = asyncio.create_task(running.serve(sockets=[sock]))
    try:
        await asyncio.shield(serving)
    finally:
        # A scrape that is cut off comes again; the stop of the daemon does not wait for it.
        running.should_exit = running.force_exit = True
        await asyncio.wait({serving})


def application(daemon: DaemonView) -> ASGIApp:
    """The few routes, for local programs alone."""
    routes = [Route(path, partial(handler, daemon), methods=["GET"]) for path, handler in _HANDLERS.items()]
    return _Guarded(Router(routes, redirect_slashes=False))


class _Guarded:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Request(scope).headers
        if is_local_request(headers.get("host"), headers.get("origin")):
            await self._app(scope, receive, send)
            return
        refusal = PlainTextResponse("for programs on this machine: name it as localhost\n", HTTPStatus.FORBIDDEN)
        await refusal(scope, receive, send)
