"""Who is at the other end of the socket: the kernel says, once per connection.

The socket's mode is the wall; this check is the second one, for sockets whose mode was widened by
configuration. A pid is never a security decision.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
import sys
from collections.abc import Collection, Iterator
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from sidecar.gateway.errors import Code, GatewayError, envelope, fresh_request_id

log = logging.getLogger(__name__)

#: The time for the first request's headers.
HEADERS_TIMEOUT_S = 10.0
_LOCAL_PEERCRED = 0x001  # macOS <sys/un.h>; `struct xucred` starts with version and uid


def peer_uid(sock: socket.socket) -> int | None:
    """The uid of the process that connected, or None where the kernel does not say."""
    try:
        if sys.platform == "darwin":
            _, uid = struct.unpack_from("=II", sock.getsockopt(0, _LOCAL_PEERCRED, 76))
            return int(uid)
        _, uid, _ = struct.unpack("=iII", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return int(uid)
    except (OSError, AttributeError, struct.error):
        return None


def allowed_uids(extra: Collection[int]) -> frozenset[int]:
    """Our own uid, root, and the configured ones."""
    return frozenset({os.getuid(), 0, *extra})


class Patient(H11Protocol):
    """HTTP/1.1 with a bound on how long it waits for a first request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self.loop.call_later(HEADERS_TIMEOUT_S, self._close_silent, transport)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP in the envelope of every refusal; behind an answer there is only the end."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.write(b"".join(self.conn.send(event) or b"" for event in _refusal()))
        self.transport.close()

    def _close_silent(self, transport: asyncio.Transport) -> None:
        """End a connection that has not made one whole request: it only holds a descriptor."""
        if getattr(self, "cycle", None) is None:
            transport.close()


def protocol_for(allowed: frozenset[int]) -> type[H11Protocol]:
    """An HTTP/1.1 protocol that hangs up on anybody whose uid is not in `allowed`."""

    class PeerChecked(Patient):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            sock: Any = transport.get_extra_info("socket")
            uid = peer_uid(sock)
            if uid not in allowed:
                log.warning("connection refused", extra={"fields": {"peerUid": uid}})
                transport.abort()
                return
            super().connection_made(transport)

    return PeerChecked


def _refusal() -> Iterator[h11.Event]:
    request_id = fresh_request_id()
    error = GatewayError(Code.INVALID_HTTP, "the request is not HTTP/1.1", hint="send it with an HTTP client")
    response = envelope(error, request_id)
    headers = [*response.raw_headers, (b"x-request-id", request_id.encode()), (b"connection", b"close")]
    yield h11.Response(status_code=response.status_code, headers=headers)
    yield h11.Data(data=bytes(response.body))
    yield h11.EndOfMessage()
