"""Refusals that no single well-formed request provokes, held against the document."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from sidecar.gateway.app import Front
from sidecar.gateway.asked import MAX_BODY_BYTES
from sidecar.gateway.errors import Code, GatewayError, disk_deadline, envelope
from sidecar.gateway.places import MAX_IN_FLIGHT, Places
from sidecar.gateway.routes import OPERATIONS, Operation
from sidecar.metrics.counts import Counts
from tests.api.stage import AGENT, stage
from tests.api.strict import undocumented
from tests.running import Running

SEARCH = f"/v1/agents/{AGENT}/memory_search"
QUESTION = json.dumps({"query": "when does the boat leave?", "sessionKey": "agent:main:main"}).encode()
DEADLINE_S = 60.0


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A daemon that remembers something."""
    with stage(tmp_path_factory.mktemp("refusals")) as daemon:
        yield daemon


def connected(daemon: Running) -> socket.socket:
    """A connection on which nothing was said."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(DEADLINE_S)
    connection.connect(str(daemon.client.path))
    return connection


def asking(body: bytes, *fields: bytes) -> bytes:
    """A search as it stands on the wire."""
    lines = [f"POST {SEARCH} HTTP/1.1".encode(), b"Host: x", b"Connection: close", *fields]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def sized(number: int) -> bytes:
    """The header that promises so many bytes."""
    return b"Content-Length: %d" % number


def heard(connection: socket.socket) -> tuple[int, dict[str, str], Any]:
    """Status, headers and body of what comes until the daemon hangs up."""
    said = b""
    while more := connection.recv(2**16):
        said += more
    head, _, body = said.partition(b"\r\n\r\n")
    status, *fields = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
    return int(status.split()[1]), headers, json.loads(body)


def check(answer: tuple[int, dict[str, str], Any], code: Code) -> None:
    """The documented refusal, with an id that is the same in the head and in the body."""
    status, headers, reply = answer
    assert (status, reply["error"]["code"]) == (code.status, code.label)
    assert undocumented("POST", SEARCH, reply, status=str(status)) == []
    assert headers["x-request-id"] == reply["error"]["requestId"]


def test_more_requests_at_once_than_there_are_places(daemon: Running) -> None:
    """They wait in their sockets until the daemon goes on: as many as there are places are answered, and the rest
    is told when to come back."""
    with ExitStack() as stack:
        connections = [stack.enter_context(connected(daemon)) for _ in range(2 * MAX_IN_FLIGHT)]
        # Every connection is accepted before the stop: an answer has come on one that was made after them.
        daemon.call("GET", "/livez")
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            for connection in connections:
                connection.sendall(asking(QUESTION, sized(len(QUESTION))))
        finally:
            daemon.process.send_signal(signal.SIGCONT)
        answers = [heard(connection) for connection in connections]
    refused = [answer for answer in answers if answer[0] != 200]
    assert len(answers) - len(refused) >= MAX_IN_FLIGHT
    assert refused
    for answer in refused:
        check(answer, Code.OVERLOADED)
        assert int(answer[1]["retry-after"]) >= 1
    assert daemon.search(AGENT, "when does the boat leave?")["results"]


def test_a_body_that_does_not_come(daemon: Running) -> None:
    """One byte of it is missing."""
    with connected(daemon) as connection:
        connection.sendall(asking(QUESTION[:-1], sized(len(QUESTION))))
        check(heard(connection), Code.REQUEST_TIMEOUT)


def test_a_body_that_says_it_is_too_large(daemon: Running) -> None:
    """It is refused before it is sent."""
    with connected(daemon) as connection:
        connection.sendall(asking(b"", sized(MAX_BODY_BYTES + 1)))
        check(heard(connection), Code.BODY_TOO_LARGE)


def test_a_body_that_grows_too_large(daemon: Running) -> None:
    """In pieces, none of which says how large the whole is."""
    with connected(daemon) as connection:
        piece = b"%x\r\n%s\r\n" % (MAX_BODY_BYTES + 1, b" " * (MAX_BODY_BYTES + 1))
        connection.sendall(asking(piece, b"Transfer-Encoding: chunked"))
        check(heard(connection), Code.BODY_TOO_LARGE)


def test_a_handler_that_crashes() -> None:
    """Nothing of what went wrong is told."""

    async def crashing(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("a secret")

    async def received() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    sent: list[Message] = []

    async def keep(message: Message) -> None:
        sent.append(message)

    scope: Scope = {"type": "http", "method": "POST", "path": SEARCH, "headers": []}
    front = Front(crashing, places=Places(1), counts=Counts())
    asyncio.run(front(scope, received, keep))
    start, body = sent
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    check((start["status"], headers, json.loads(body["body"])), Code.INTERNAL)
    assert b"secret" not in body["body"]


def test_a_disk_that_does_not_answer() -> None:
    """As every route that asks the disk tells it."""
    with pytest.raises(GatewayError) as refused, disk_deadline():
        raise TimeoutError
    told = json.loads(bytes(envelope(refused.value, "r1").body))
    asking_the_disk = [row for row in OPERATIONS if Code.TIMEOUT in row.errors]
    assert asking_the_disk
    for row in asking_the_disk:
        assert undocumented(row.method, row.path, told, status=str(Code.TIMEOUT.status)) == []


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: f"{operation.method} {operation.path}")
def test_a_code_is_refused_where_the_document_does_not_name_it(operation: Operation) -> None:
    """What it names is the whole list."""
    for code in Code:
        told = json.loads(bytes(envelope(GatewayError(code, "m", hint="h"), "r1").body))
        if str(code.status) in {str(named.status) for named in operation.refusals}:
            wrong = undocumented(operation.method, operation.path, told, status=str(code.status))
            assert bool(wrong) == (code not in operation.refusals)
