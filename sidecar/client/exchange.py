"""One exchange, apart from who waits how: both clients feed it with what their sockets receive."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from socket import AF_UNIX, SOCK_STREAM, socket
from typing import Any, Generic, TypeVar

from sidecar.client.calls import Call
from sidecar.client.errors import RefusedError
from sidecar.client.wire import BrokenOffError, NonsenseError, Reading, as_object, request

RECEIVED_BYTES = 65_536
#: Before a second attempt: a moment in which a daemon that restarts may be back.
AGAIN_S = 0.1
#: For which a stream of events may say nothing: two heartbeats and a breath.
SILENCE_S = 40.0
#: Between attempts to get into the queue of a daemon that is slow to take connections.
QUEUED_S = 0.01

Answer = TypeVar("Answer")


def dial(path: Path) -> socket | None:
    """A connected socket that does not block; None while too many others wait to be let in. Raises `OSError`."""
    connection = socket(AF_UNIX, SOCK_STREAM)
    try:
        connection.setblocking(False)
        connection.connect(str(path))
    except BlockingIOError:
        connection.close()
        return None
    except BaseException:
        connection.close()
        raise
    return connection


class Exchange(Generic[Answer]):
    """A call that is under way on a connection of its own. `was_sent` is to be false where sending it failed."""

    def __init__(self, call: Call[Answer]) -> None:
        self._call = call
        self.request = request(call.method, call.path, call.body)
        self.was_sent = True
        self._reading = Reading()

    @property
    def is_complete(self) -> bool:
        """Whether the whole reply is there."""
        return self._reading.is_complete

    def feed(self, data: bytes) -> None:
        """Take what was received, nothing for a connection that ended. Raises `BrokenOffError`, `NonsenseError`."""
        if not data:
            raise BrokenOffError(was_sent=self.was_sent)
        self._reading.feed(data)

    def answer(self) -> Answer:
        """What a complete reply says. Raises `RefusedError`, `NonsenseError`."""
        if self._reading.status >= 400:
            error = as_object(bytes(self._reading.body)).get("error")
            raise RefusedError(self._reading.status, error if isinstance(error, dict) else {})
        return self._call.read(bytes(self._reading.body))

    def lines(self) -> Iterator[dict[str, Any]]:
        """The lines that have come since, each an object. Raises `RefusedError`, `NonsenseError`."""
        if self._reading.status >= 400:
            if self.is_complete:
                self.answer()
            return
        while (end := self._reading.body.find(b"\n")) >= 0:
            line = bytes(self._reading.body[:end])
            del self._reading.body[: end + 1]
            yield as_object(line)
        if self.is_complete and self._reading.body:
            raise NonsenseError("the last line of the reply is not complete")


def may_repeat(call: Call[Answer], error: OSError) -> bool:
    """Whether a second attempt can do nothing twice: the call never left, or it only reads."""
    if isinstance(error, BrokenOffError):
        return call.is_read or not error.was_sent
    return error.errno in {errno.ECONNREFUSED, errno.ENOENT}
