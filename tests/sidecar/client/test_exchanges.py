"""Both clients against servers that hang, trickle, break off and talk nonsense."""

from __future__ import annotations

import errno
import os
import resource
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.client import (
    BadReplyError,
    Client,
    ClientError,
    DeadlineError,
    NotAllowedError,
    NotRunningError,
    RefusedError,
    calls,
)
from sidecar.client.exchange import may_repeat
from sidecar.client.wire import MAX_BODY_BYTES, BrokenOffError
from tests.sidecar.client.conftest import Ask, Scripted, hangs_up, reply, sends, stays

Start = Callable[..., Scripted]
HALF = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"
ERROR = b'{"error": {"code": "body_too_large", "message": "m", "hint": "h", "requestId": "r"}}'


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 2", HALF])
def test_a_server_that_hangs_meets_the_deadline(ask: Ask, scripted: Start, said: bytes) -> None:
    """Before the first byte and after it."""
    server = scripted(stays(said))
    with pytest.raises(DeadlineError):
        ask(server.path, "info", timeout_s=0.1)


def test_a_server_that_trickles_meets_the_deadline(ask: Ask, scripted: Start) -> None:
    """The deadline is one of the whole exchange, and does not begin anew with every byte."""
    over = threading.Event()

    def trickle(connection: socket.socket) -> None:
        sends(HALF)(connection)
        while not over.wait(0.02):
            connection.sendall(b" ")

    server = scripted(trickle)
    with pytest.raises(DeadlineError):
        ask(server.path, "info", timeout_s=0.3)
    over.set()


def test_a_request_that_nobody_reads_meets_the_deadline(ask: Ask, scripted: Start) -> None:
    """A body that is longer than a socket's buffer waits as well."""
    over = threading.Event()
    server = scripted(lambda connection: over.wait(20) and None)
    with pytest.raises(DeadlineError):
        ask(server.path, "triggers", "main", message="x" * 3_000_000, timeout_s=0.1)
    over.set()


def test_a_queue_that_is_full_meets_the_deadline(ask: Ask, folder: Path) -> None:
    """A daemon that takes no more connections is busy: it runs, and nothing was answered."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "full.sock"))
        listener.listen(0)
        waiting = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        try:
            _fill(listener, waiting)
            with pytest.raises(DeadlineError):
                ask(folder / "full.sock", "info", timeout_s=0.1)
        finally:
            for connection in waiting:
                connection.close()


def test_a_place_in_the_queue_is_waited_for(ask: Ask, folder: Path) -> None:
    """A moment of many connections is no failure."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "full.sock"))
        listener.listen(0)
        waiting = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        full = _fill(listener, waiting)

        def let_in() -> None:
            for _ in range(full):
                listener.accept()[0].close()
            with listener.accept()[0] as connection:
                sends(reply(b'{"pid": 1}'))(connection)

        thread = threading.Timer(0.05, let_in)
        thread.start()
        assert ask(folder / "full.sock", "info") == {"pid": 1}
        thread.join(20)
        for connection in waiting:
            connection.close()


def _fill(listener: socket.socket, waiting: list[socket.socket]) -> int:
    """Connect until nobody is let in any more, and how many were."""
    for number, connection in enumerate(waiting):
        connection.setblocking(False)
        try:
            connection.connect(listener.getsockname())
        except BlockingIOError:
            return number
    pytest.skip("this system's queues have no such end")


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        reply(b"<html>"),
        reply(b"[1]"),
        reply(b"\xff"),
        reply(b""),
        reply(b"[" * 200_000),
        reply(b"<html>", status=500),
    ],
)
def test_something_else_at_the_socket_is_a_bad_reply(ask: Ask, scripted: Start, said: bytes) -> None:
    """Said, not crashed on, and asked only once."""
    server = scripted(sends(said), sends(reply(b"{}")))
    with pytest.raises(BadReplyError) as caught:
        ask(server.path, "info")
    assert str(server.path) in caught.value.hint
    assert server.connections_left


def test_a_flood_is_cut_off(ask: Ask, scripted: Start) -> None:
    """A hundred megabytes are not kept, let alone read to their end."""
    sent = []

    def flood(connection: socket.socket) -> None:
        sends(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n")(connection)
        for _ in range(100):
            connection.sendall(bytes(1 << 20))
            sent.append(1 << 20)

    server = scripted(flood)
    with pytest.raises(BadReplyError, match="longer than"):
        ask(server.path, "info")
    assert sum(sent) <= MAX_BODY_BYTES + (4 << 20)


def test_an_error_envelope_is_raised(ask: Ask, scripted: Start) -> None:
    """With its status, code and hint."""
    server = scripted(sends(reply(ERROR, status=413)))
    with pytest.raises(RefusedError) as caught:
        ask(server.path, "sync", "main")
    assert (caught.value.status, caught.value.code, caught.value.hint) == (413, "body_too_large", "h")


def test_a_refusal_is_heard_before_the_whole_body_is_taken(ask: Ask, scripted: Start) -> None:
    """A server that reads no further has said why."""
    server = scripted(sends(reply(ERROR, status=413)))
    with pytest.raises(RefusedError):
        ask(server.path, "triggers", "main", message="x" * 3_000_000)


@pytest.mark.parametrize("name", ["search", "get", "triggers"])
def test_a_read_that_breaks_off_is_tried_again(ask: Ask, scripted: Start, name: str) -> None:
    """As when the daemon is started anew at that moment."""
    server = scripted(sends(HALF), sends(reply(b'{"text": "x"}')))
    assert ask(server.path, name, "main", query="x") == {"text": "x"}


@pytest.mark.parametrize("name", ["sync", "flush", "export", "purge", "session_start"])
def test_what_may_have_been_done_is_not_done_twice(ask: Ask, scripted: Start, name: str) -> None:
    """Nobody knows whether the daemon did it before the connection broke."""
    server = scripted(sends(), sends(reply(b"{}")))
    with pytest.raises(BadReplyError, match="broke"):
        ask(server.path, name, "main")
    assert server.connections_left


def test_what_was_not_sent_is_tried_again(ask: Ask, scripted: Start) -> None:
    """Half a request does nothing, so that even a purge may be sent once more."""
    big = {"pattern": "x" * 3_000_000}
    server = scripted(hangs_up, _takes_all)
    assert ask(server.path, "purge", "main", **big) == {"taken": True}


def _takes_all(connection: socket.socket) -> None:
    taken = 0
    while taken < 3_000_000:
        taken += len(connection.recv(1 << 20))
    connection.sendall(reply(b'{"taken": true}'))


def test_a_second_failure_is_told(ask: Ask, scripted: Start) -> None:
    """Once more, and not for ever."""
    server = scripted(sends(HALF), sends(HALF), sends(reply(b"{}")))
    with pytest.raises(BadReplyError, match="broke"):
        ask(server.path, "info")
    assert server.connections_left


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), True),
        (FileNotFoundError(errno.ENOENT, "none"), True),
        (PermissionError(errno.EACCES, "denied"), False),
        (OSError("AF_UNIX path too long"), False),
        (TimeoutError(), False),
        (BrokenOffError(was_sent=False), True),
        (BrokenOffError(was_sent=True), False),
    ],
)
def test_a_second_attempt_is_for_what_may_be_better_in_a_moment(error: OSError, again: bool) -> None:
    """And for what can do nothing twice."""
    assert may_repeat(calls.purge("main", session="s"), error) is again


def test_nobody_at_the_socket_is_not_running(ask: Ask, folder: Path) -> None:
    """A path without a socket names itself."""
    with pytest.raises(NotRunningError) as caught:
        ask(folder / "none.sock", "info")
    assert caught.value.as_json() == {"running": False, "socket": str(folder / "none.sock")}


def test_a_daemon_that_dies_in_the_middle_is_not_running(ask: Ask, scripted: Start) -> None:
    """That is what the second attempt finds."""
    server = scripted(lambda connection: server.path.unlink())
    with pytest.raises(NotRunningError):
        ask(server.path, "info")


def test_a_socket_of_somebody_else_is_not_allowed(ask: Ask, scripted: Start) -> None:
    """It is there, and its owner says who may open it."""
    if os.geteuid() == 0:
        pytest.skip("root may open every socket")
    server = scripted(sends(reply(b"{}")))
    server.path.chmod(0)
    with pytest.raises(NotAllowedError):
        ask(server.path, "info")


def test_a_process_without_a_free_file_is_no_missing_daemon(scripted: Start) -> None:
    """Its own limit is told, and not that nobody listens."""
    server = scripted(sends(reply(b"{}")))
    client, (soft, hard) = Client(server.path), resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(ClientError, match="no file is left"):
            client.info()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert client.info() == {}
