"""The ASGI application: request ids, errors and one log line a request, around the routes."""

from __future__ import annotations

import logging
import re
import time
from contextlib import ExitStack

from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sidecar.gateway.errors import Code, GatewayError, envelope, fresh_request_id
from sidecar.gateway.places import Places
from sidecar.gateway.request_line import UNLOGGED, tell
from sidecar.gateway.routes import routes
from sidecar.gateway.view import DaemonView
from sidecar.metrics.counts import Counts

log = logging.getLogger(__name__)

_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}")


def application(daemon: DaemonView) -> ASGIApp:
    """The gateway as one ASGI application."""
    handlers = {GatewayError: _refused, HTTPException: _no_route}
    inner = ExceptionMiddleware(Router(routes(daemon), redirect_slashes=False), handlers=handlers)
    return Front(inner, places=daemon.places, counts=daemon.counts)


class Front:
    """Gives every request an id, counts it, and writes one line when it is over."""

    def __init__(self, app: ASGIApp, *, places: Places, counts: Counts) -> None:
        self._app = app
        self._places = places
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        scope.setdefault("state", {}).update(request_id=request_id, fields={})
        # With an `app` in scope the router raises for a missing route, so that our envelope answers it.
        scope["app"] = self
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._counts.answered(_route(scope), status, time.perf_counter() - started)
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
            await send(message)

        started = time.perf_counter()
        scope["state"]["places"] = self._places
        try:
            with ExitStack() as scope["state"]["held"]:
                await self._app(scope, receive, send_with_id)
        except Exception:
            log.exception("request crashed", extra={"fields": {"requestId": request_id}})
            if not status:
                await _crashed(request_id)(scope, receive, send_with_id)
        finally:
            _log_request(scope, request_id, status, time.perf_counter() - started)


def _log_request(scope: Scope, request_id: str, status: int, took_s: float) -> None:
    if scope["path"] in UNLOGGED:
        return
    tell(log, _route(scope), status, took_s, {"requestId": request_id, **scope["state"]["fields"]})


def _route(scope: Scope) -> str:
    """The route and not the path: a path is the caller's text."""
    return getattr(scope.get("route"), "path", "unknown")


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            text = value.decode("latin-1")
            if _REQUEST_ID.fullmatch(text):
                return str(text)
    return fresh_request_id()


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, GatewayError)
    request.state.fields["code"] = error.code.label
    return envelope(error, request.state.request_id)


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == Code.METHOD_NOT_ALLOWED.status:
        allowed = (error.headers or {}).get("Allow", "")
        refusal = GatewayError(
            Code.METHOD_NOT_ALLOWED,
            "this route does not take that method",
            hint=f"use {allowed}",
            headers={"Allow": allowed},
        )
    else:
        refusal = GatewayError(Code.NOT_FOUND, "no such route", hint="GET /v1/openapi.json describes the routes")
    return envelope(refusal, request.state.request_id)


def _crashed(request_id: str) -> Response:
    error = GatewayError(
        Code.INTERNAL, "the daemon failed to answer", hint="see the daemon's log for this requestId; please report it"
    )
    return envelope(error, request_id)
