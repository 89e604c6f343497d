"""HTTP/1.1 as the daemon speaks it, without a socket: bytes to send, and replies read from bytes as they come.

`http.client` reads a head with the email package, whose import alone takes longer than a search.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from typing import Any

#: For a head, and for a line between two chunks.
MAX_HEAD_BYTES = 65_536
#: Far above every reply; what goes on behind it comes from something else than the daemon.
MAX_BODY_BYTES = 64 * 1024 * 1024


class BrokenOffError(ConnectionError):
    """The connection ended before the reply did. `was_sent`: the daemon may have taken the whole request."""

    def __init__(self, *, was_sent: bool) -> None:
        super().__init__("the connection broke before the reply was complete")
        self.was_sent = was_sent


class NonsenseError(Exception):
    """What came is no reply of this daemon."""


def request(method: str, path: str, body: bytes | None = None) -> bytes:
    """A whole request. Raises `ValueError` for a method or a path with which another request could begin."""
    if not all(word.isascii() and word.isprintable() and " " not in word for word in (method, path)):
        raise ValueError("a method or a path holds no blanks and nothing but ASCII")
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Accept: application/json", "Connection: close"]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "\r\n"]).encode("ascii") + (body or b"")


def as_object(raw: bytes) -> dict[str, Any]:
    """A JSON object. Raises `NonsenseError`."""
    try:
        value = json.loads(raw)
    # Brackets without end exhaust the parser's stack.
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise NonsenseError("the reply is not a JSON object")
    return value


class Reading:
    """A reply that is read as it comes: `status` is 0 before its head is there; `body` is what came of it."""

    def __init__(self) -> None:
        self.status = 0
        self.body = bytearray()
        self.is_complete = False
        self._unread = bytearray()
        self._steps = self._message()

    def feed(self, data: bytes) -> None:
        """Read on. Raises `NonsenseError`."""
        self._unread += data
        next(self._steps, None)
        if len(self.body) > MAX_BODY_BYTES:
            raise NonsenseError(f"the reply is longer than {MAX_BODY_BYTES:,} bytes")

    def _message(self) -> Iterator[None]:
        """Each `yield` waits for more bytes."""
        head = yield from self._line(b"\r\n\r\n")
        self.status, headers = _parsed(head)
        if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
            while size := _number((yield from self._line()), base=16):
                yield from self._take(size)
                if (yield from self._line()):
                    raise NonsenseError("a chunk is longer than it says")
            while (yield from self._line()):
                pass  # the trailer
        else:
            yield from self._take(_number(headers.get(b"content-length", b"none")))
        self.is_complete = True

    def _line(self, end: bytes = b"\r\n") -> Generator[None, None, bytes]:
        while (length := self._unread.find(end)) < 0:
            if len(self._unread) > MAX_HEAD_BYTES:
                raise NonsenseError("the head of the reply does not end")
            yield
        line = bytes(self._unread[:length])
        del self._unread[: length + len(end)]
        return line

    def _take(self, size: int) -> Iterator[None]:
        while True:
            piece = self._unread[:size]
            self.body += piece
            del self._unread[: len(piece)]
            size -= len(piece)
            if not size:
                return
            yield


def _parsed(head: bytes) -> tuple[int, dict[bytes, bytes]]:
    first, *lines = head.split(b"\r\n")
    version, _, rest = first.partition(b" ")
    status = _number(rest[:3])
    if not version.startswith(b"HTTP/1.") or not 200 <= status < 600:
        raise NonsenseError("what came is no reply over HTTP")
    pairs = (line.partition(b":") for line in lines)
    return status, {name.strip().lower(): value.strip() for name, _, value in pairs}


def _number(digits: bytes, *, base: int = 10) -> int:
    digits = digits.partition(b";")[0].strip()
    # `int` alone would take signs and underscores, too.
    if not digits.isalnum() or len(digits) > 15:
        raise NonsenseError("the reply does not say how long it is")
    try:
        return int(digits, base)
    except ValueError:
        raise NonsenseError("the reply does not say how long it is") from None
