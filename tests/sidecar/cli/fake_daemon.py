"""A real HTTP server on a Unix socket that answers what a test tells it to."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

Route = tuple[int, Any] | Callable[[BaseHTTPRequestHandler], None]


class FakeDaemon(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Answers `routes[method, path]`, 404 otherwise, and keeps the requests that came in.

    A route is a status with a JSON value (or bytes, sent as they are), or a function of the handler.
    """

    daemon_threads = True

    def __init__(self, path: Path) -> None:
        self.path = path
        self.routes: dict[tuple[str, str], Route] = {}
        self.requests: list[tuple[str, str, Any]] = []
        super().__init__(str(path), _Handler)
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def bodies(self, path: str) -> list[Any]:
        """The bodies that were posted to a path."""
        return [body for _, asked, body in self.requests if asked == path]

    def close(self) -> None:
        """Stop serving and remove the socket. Safe to call twice."""
        self.shutdown()
        self._thread.join(10)
        self.server_close()
        self.path.unlink(missing_ok=True)


class _Handler(BaseHTTPRequestHandler):
    server: FakeDaemon

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append((self.command, self.path, json.loads(raw) if raw else None))
        route = self.server.routes.get((self.command, self.path), (404, error("not_found", "no such route")))
        if callable(route):
            route(self)
        else:
            send(self, *route)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


def send(handler: BaseHTTPRequestHandler, status: int, value: Any) -> None:
    """Send a whole reply."""
    payload = value if isinstance(value, bytes) else json.dumps(value).encode()
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(payload)))
    handler.end_headers()
    handler.wfile.write(payload)


def error(code: str, message: str, hint: str = "", details: list[dict[str, str]] | None = None) -> dict[str, Any]:
    """The daemon's error envelope."""
    return {"error": {"code": code, "message": message, "hint": hint, "requestId": "r-1", "details": details or []}}
