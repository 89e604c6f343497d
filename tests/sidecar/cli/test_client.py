"""The client over real sockets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.client import BadReplyError, Client, DeadlineError, NotRunningError, RefusedError
from tests.sidecar.cli.fake_daemon import FakeDaemon, error


@pytest.fixture
def server(folder: Path) -> Iterator[FakeDaemon]:
    """A fake daemon."""
    fake = FakeDaemon(folder / "s.sock")
    yield fake
    fake.close()


def test_fields_of_the_body_that_are_none_are_left_out(server: FakeDaemon) -> None:
    """The daemon's defaults hold for whatever the caller did not say; false and zero are said."""
    server.routes["POST", "/v1/agents/a%20b/sync"] = (200, {})
    Client(server.path).sync("a b", force=False, wait=None)
    assert server.bodies("/v1/agents/a%20b/sync") == [{"force": False}]


@pytest.mark.parametrize(("typed", "asked"), [(b"caf\xe9", "caf\ufffd"), ("港".encode(), "港")])
def test_what_the_locale_cannot_spell_is_asked_all_the_same(server: FakeDaemon, typed: bytes, asked: str) -> None:
    """A command line is bytes, and JSON is text."""
    server.routes["POST", "/v1/agents/%E9/memory_search"] = (200, {})
    agent, query = (arg.decode("ascii", "surrogateescape") for arg in (b"\xe9", typed))
    Client(server.path).search(agent, query=query)
    assert server.bodies("/v1/agents/%E9/memory_search") == [{"query": asked}]


def test_an_error_envelope_is_raised_with_its_fields(server: FakeDaemon) -> None:
    """Code, hint and details survive the way."""
    rows = [{"field": "query", "message": "empty"}]
    server.routes["POST", "/v1/agents/a/memory_search"] = (400, error("invalid_request", "wrong", "look", rows))
    with pytest.raises(RefusedError) as caught:
        Client(server.path).search("a", query="")
    refused = caught.value
    assert (refused.status, refused.code, refused.hint, refused.request_id) == (400, "invalid_request", "look", "r-1")
    assert refused.details == ["query: empty"]


@pytest.mark.parametrize("payload", [b"<html>", b"[1]", b"\xff", b""])
def test_a_reply_that_is_no_object_is_a_bad_reply(server: FakeDaemon, payload: bytes) -> None:
    """Something else listens at the socket: said, not crashed on."""
    server.routes["GET", "/v1/info"] = (200, payload)
    with pytest.raises(BadReplyError):
        Client(server.path).info()


def test_nobody_at_the_socket_is_not_running(folder: Path) -> None:
    """A path without a socket names itself."""
    with pytest.raises(NotRunningError) as caught:
        Client(folder / "none.sock").info()
    assert caught.value.as_json() == {"running": False, "socket": str(folder / "none.sock")}


def answered_with(path: Path, answer: bytes, end: threading.Event) -> threading.Thread:
    """Take one connection, send some bytes of an answer, and keep it open until `end`."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        with listener, listener.accept()[0] as connection:
            connection.recv(65_536)
            connection.sendall(answer)
            end.wait(30)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"])
def test_a_server_that_stalls_meets_the_deadline(folder: Path, answer: bytes) -> None:
    """The deadline holds for the whole exchange, before the first byte and after it."""
    end = threading.Event()
    thread = answered_with(folder / "slow.sock", answer, end)
    with pytest.raises(DeadlineError):
        Client(folder / "slow.sock", timeout_s=0.2).info()
    end.set()
    thread.join(10)


def test_a_connection_that_breaks_is_a_bad_reply(folder: Path) -> None:
    """A daemon that dies in the middle of its answer is not a success."""
    end = threading.Event()
    end.set()
    thread = answered_with(folder / "short.sock", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", end)
    with pytest.raises(BadReplyError):
        Client(folder / "short.sock").info()
    thread.join(10)
