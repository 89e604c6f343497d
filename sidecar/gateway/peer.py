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
from collections.abc import Collection
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

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


def protocol_for(allowed: frozenset[int]) -> type[H11Protocol]:
    """An HTTP/1.1 protocol that hangs up on anybody whose uid is not in `allowed`."""

    class PeerChecked(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            sock: Any = transport.get_extra_info("socket")
            uid = peer_uid(sock)
            if uid not in allowed:
                log.warning("connection refused", extra={"fields": {"peerUid": uid}})
                transport.abort()
                return
            super().connection_made(transport)
            self.loop.call_later(HEADERS_TIMEOUT_S, self._close_silent, transport)

        def _close_silent(self, transport: asyncio.Transport) -> None:
            """End a connection that has not made one whole request: it only holds a descriptor."""
            if getattr(self, "cycle", None) is None:
                transport.close()

    return PeerChecked
