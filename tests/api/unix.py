"""The `requests` library over a Unix socket: every host is the daemon."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool

TIMEOUT_S = 60.0


class _Connection(HTTPConnection):
    """A connection to the path that stands in `socket_path`."""

    socket_path: Path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(TIMEOUT_S)
        self.sock.connect(str(self.socket_path))


class _Adapter(HTTPAdapter):
    """One pool of connections, whatever the address."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._pool = HTTPConnectionPool("localhost")
        self._pool.ConnectionCls = type("Connection", (_Connection,), {"socket_path": path})

    def get_connection_with_tls_context(self, *_: Any, **__: Any) -> HTTPConnectionPool:
        return self._pool

    def close(self) -> None:
        self._pool.close()


def session(path: Path, headers: Mapping[str, str] | None = None) -> requests.Session:
    """A session whose requests go to the socket at `path`."""
    made = requests.Session()
    made.trust_env = False
    made.mount("http://", _Adapter(path))
    made.headers.update(headers or {})
    return made
