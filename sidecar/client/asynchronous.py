"""The client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from functools import wraps
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast, overload

from sidecar.client import calls
from sidecar.client.calls import Call
from sidecar.client.errors import failures_named
from sidecar.client.exchange import AGAIN_S, QUEUED_S, RECEIVED_BYTES, SILENCE_S, Exchange, dial, may_repeat

if TYPE_CHECKING:
    from sidecar.gateway.replies import AgentStatus, DaemonStatus, Event

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


def _method(
    call: Callable[Asked, Call[Answer]],
) -> Callable[Concatenate[AsyncClient, Asked], Coroutine[Any, Any, Answer]]:
    @wraps(call)
    async def ask(client: AsyncClient, /, *args: Asked.args, **kwargs: Asked.kwargs) -> Answer:
        return await client.ask(call(*args, **kwargs))

    return ask


class AsyncClient:
    """What `Client` is for threads. A call that is cancelled closes its connection."""

    def __init__(self, path: Path | str, *, timeout_s: float = 60.0) -> None:
        self.path = Path(path)
        self.timeout_s = timeout_s

    info = _method(calls.info)
    agents = _method(calls.agents)
    environment = _method(calls.environment)
    search = _method(calls.search)
    get = _method(calls.get)
    triggers = _method(calls.triggers)
    session_start = _method(calls.session_start)
    flush = _method(calls.flush)
    flush_plan = _method(calls.flush_plan)
    flush_result = _method(calls.flush_result)
    sync = _method(calls.sync)
    explain_scope = _method(calls.explain_scope)
    export = _method(calls.export)
    purge = _method(calls.purge)
    doctor = _method(calls.doctor)
    metrics = _method(calls.metrics)
    reload = _method(calls.reload)
    shutdown = _method(calls.shutdown)
    call = _method(calls.call)

    @overload
    async def status(self, agent: None = None, *, deep: bool = False) -> DaemonStatus: ...

    @overload
    async def status(self, agent: str, *, deep: bool = False) -> AgentStatus: ...

    async def status(self, agent: str | None = None, *, deep: bool = False) -> Any:
        """The state of the daemon with all its agents, or of one agent; `deep` tries the embedding providers, too."""
        if agent is None:
            return await self.ask(calls.daemon_status(deep=deep))
        return await self.ask(calls.agent_status(agent, deep=deep))

    async def events(
        self, *, after: int | None = None, once: bool = False, silence_s: float = SILENCE_S
    ) -> AsyncIterator[Event]:
        """As `Client.events`; `contextlib.aclosing` closes it for sure."""
        exchange = Exchange(calls.events(after=after, once=once))
        with failures_named(self.path, silence_s):
            async with AsyncExitStack() as held:
                async with asyncio.timeout(silence_s):
                    connection = await held.enter_async_context(_connected(self.path))
                    await _send(connection, exchange)
                while not exchange.is_complete:
                    async with asyncio.timeout(silence_s):
                        news = await _lines(connection, exchange)
                    for event in news:
                        yield cast("Event", event)

    async def ask(self, call: Call[Answer]) -> Answer:
        """Make a call of `sidecar.client.calls`."""
        with failures_named(self.path, self.timeout_s):
            async with asyncio.timeout(self.timeout_s):
                try:
                    return await self._attempt(call)
                except OSError as error:
                    if not may_repeat(call, error):
                        raise
                await asyncio.sleep(AGAIN_S)
                return await self._attempt(call)

    async def _attempt(self, call: Call[Answer]) -> Answer:
        exchange = Exchange(call)
        async with _connected(self.path) as connection:
            await _send(connection, exchange)
            while not exchange.is_complete:
                exchange.feed(await _receive(connection))
        return exchange.answer()


@asynccontextmanager
async def _connected(path: Path) -> AsyncIterator[socket]:
    # The loop's own way to connect takes a full queue for a connection.
    while (connection := dial(path)) is None:  # noqa: ASYNC110 - nothing tells of a place in a queue
        await asyncio.sleep(QUEUED_S)
    with connection:
        yield connection


async def _send(connection: socket, exchange: Exchange[Answer]) -> None:
    try:
        await asyncio.get_running_loop().sock_sendall(connection, exchange.request)
    except ConnectionError:
        # A refusal may be there all the same: of a body that is too long, say.
        exchange.was_sent = False


async def _lines(connection: socket, exchange: Exchange[Answer]) -> list[dict[str, Any]]:
    """The next lines; none only at the end."""
    lines: list[dict[str, Any]] = []
    while not (lines or exchange.is_complete):
        exchange.feed(await _receive(connection))
        lines += exchange.lines()
    return lines


async def _receive(connection: socket) -> bytes:
    try:
        return await asyncio.get_running_loop().sock_recv(connection, RECEIVED_BYTES)
    except ConnectionResetError:
        return b""
