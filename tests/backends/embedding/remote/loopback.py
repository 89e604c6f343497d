"""A server on loopback that keeps what it is asked, and the `Send` that reaches it."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import orjson

from backends.embedding.remote.wire import RefusedError, Reply, Request, Trouble


@dataclass(frozen=True)
class Came:
    """A request as it came over the wire; the names of its headers are lower-case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Loopback:
    """Where the server listens, and what came."""

    url: str
    came: list[Came] = field(default_factory=list)


#: Answers one request with a status and a body.
Answer = Callable[[Came], tuple[int, bytes]]


def said(value: object, status: int = 200) -> tuple[int, bytes]:
    """An answer in JSON."""
    return status, orjson.dumps(value)


@contextmanager
def served(answer: Answer) -> Iterator[Loopback]:
    """A server that answers every request by a function, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            came = Came(self.command, self.path, headers, body)
            loopback.came.append(came)
            status, answered = answer(came)
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answered)))
            self.end_headers()
            self.wfile.write(answered)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    loopback = Loopback(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield loopback
    finally:
        server.shutdown()
        thread.join(5)
        server.server_close()


def send(request: Request) -> Reply:
    """Send one request by urllib."""
    asked = urllib.request.Request(request.url, request.body or None, dict(request.headers), method=request.method)
    try:
        with urllib.request.urlopen(asked, timeout=10) as answered:
            return Reply(answered.status, answered.read(), _lower(answered.headers))
    except urllib.error.HTTPError as refused:
        with refused:
            return Reply(refused.code, refused.read(), _lower(refused.headers))
    except urllib.error.URLError as unreached:
        raise RefusedError(Trouble.NETWORK, type(unreached.reason).__name__) from unreached


def unreachable(request: Request) -> Reply:
    """Refuse to send: a test that needs no exchange has none."""
    raise AssertionError(f"asked {request.url}")


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
