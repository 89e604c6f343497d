"""A model hub on the loopback that can cut, change, refuse and lie."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Hub(ThreadingHTTPServer):
    """Serves one file with ranges. `cuts` are the sizes after which the next replies break off."""

    daemon_threads = True

    def __init__(self, content: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content = content
        self.tag = '"first"'
        self.status = 200
        self.cuts: list[int] = []
        self.asked: list[dict[str, str]] = []
        self.served = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        hub = self.server
        headers = {name.lower(): value for name, value in self.headers.items()}
        hub.asked.append({"path": self.path, **headers})
        if hub.status != 200:
            self.send_error(hub.status)
            return
        start = 0
        if "range" in headers and headers.get("if-range") == hub.tag:
            start = int(headers["range"].removeprefix("bytes=").removesuffix("-"))
        body = hub.content[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(hub.content) - 1}/{len(hub.content)}")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", hub.tag)
        self.end_headers()
        body = body[: hub.cuts.pop(0)] if hub.cuts else body
        self.wfile.write(body)
        hub.served += len(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@contextmanager
def hub_of(content: bytes) -> Iterator[Hub]:
    """A hub while the block runs."""
    with Hub(content) as hub:
        thread = threading.Thread(target=hub.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()
