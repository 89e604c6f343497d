"""Streams of events, and calls that somebody gives up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest

from sidecar.client import AsyncClient, BadReplyError, Client, DeadlineError, RefusedError
from tests.running import until
from tests.sidecar.client.conftest import Scripted, reply, sends, stays

Start = Callable[..., Scripted]
Hear = Callable[..., list[Any]]
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def test_events_are_told_as_they_come_up_to_the_end(hear: Hear, scripted: Start) -> None:
    """Wherever the chunks are cut."""
    server = scripted(sends(HEAD, chunk(b'{"id": 1}\n{"i'), chunk(b'd": 2}\n'), chunk(b"")))
    assert hear(server.path) == [{"id": 1}, {"id": 2}]


@pytest.mark.parametrize(
    ("asked", "query"), [({}, b""), ({"after": 0}, b"after=0"), ({"after": 7, "once": True}, b"after=7&once=true")]
)
def test_a_listener_says_from_where(hear: Hear, scripted: Start, asked: dict[str, Any], query: bytes) -> None:
    """Behind a known event, and only what is kept."""
    requests: list[bytes] = []
    hear(scripted(sends(HEAD, chunk(b""), asked=requests)).path, **asked)
    assert requests[0].startswith(b"GET /v1/events?" + query + b" HTTP/1.1\r\n")


@pytest.mark.parametrize(
    "sent",
    [HEAD + chunk(b'{"id": 1}\n'), HEAD + chunk(b"no\n"), HEAD + chunk(b'{"id": 1}') + b"0\r\n\r\n", reply(b"<html>")],
)
def test_a_stream_that_does_not_end_well_is_a_bad_reply(hear: Hear, scripted: Start, sent: bytes) -> None:
    """Nobody takes half a stream for the whole."""
    server = scripted(sends(sent))
    with pytest.raises(BadReplyError):
        hear(server.path)


def test_a_listener_may_be_refused(hear: Hear, scripted: Start) -> None:
    """There are only so many."""
    body = b'{"error": {"code": "overloaded", "message": "m"}}'
    whole = reply(body, status=503)
    server = scripted(sends(whole[:60], whole[60:]))
    with pytest.raises(RefusedError, match="m"):
        hear(server.path)


def test_a_stream_that_falls_silent_meets_its_deadline(hear: Hear, scripted: Start) -> None:
    """A heartbeat would have come."""
    server = scripted(stays(HEAD, chunk(b'{"id": 1}\n')))
    with pytest.raises(DeadlineError):
        hear(server.path, silence_s=0.1)


def test_a_listener_that_goes_away_hangs_up(scripted: Start) -> None:
    """With its iterator."""
    server = scripted(stays(HEAD, chunk(b'{"id": 1}\n')))
    events = Client(server.path).events()
    assert next(iter(events)) == {"id": 1}
    assert server.connections_left
    del events
    until(lambda: not server.connections_left, what="the end of the connection")


def test_an_asynchronous_listener_that_is_closed_hangs_up(scripted: Start) -> None:
    """While its loop goes on."""
    server = scripted(stays(HEAD, chunk(b'{"id": 1}\n')))

    async def listen() -> None:
        async with aclosing(AsyncClient(server.path).events()) as events:
            assert await anext(events) == {"id": 1}
        await asyncio.to_thread(until, lambda: not server.connections_left)

    asyncio.run(listen())


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"])
def test_a_call_that_is_cancelled_hangs_up(scripted: Start, sent: bytes) -> None:
    """So that the daemon need not go on, and nothing is left behind in the loop."""
    requests: list[bytes] = []
    server = scripted(stays(sent, asked=requests))

    async def cancel() -> None:
        call = asyncio.create_task(AsyncClient(server.path).search("main", query="boat"))
        while not requests:
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.to_thread(until, lambda: not server.connections_left)

    asyncio.run(cancel())


def test_a_deadline_of_the_callers_own_stays_his(scripted: Start) -> None:
    """It is no `DeadlineError` of a client whose deadline is not reached."""
    server = scripted(stays())

    async def give_up() -> None:
        async with asyncio.timeout(0.05):
            await AsyncClient(server.path).info()

    with pytest.raises(TimeoutError):
        asyncio.run(give_up())
