"""The client for threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def _method(call: Callable[Asked, Call[Answer]]) -> Callable[Concatenate[Client, Asked], Answer]:
    @wraps(call)
    def ask(client: Client, /, *args: Asked.args, **kwargs: Asked.kwargs) -> Answer:
        return client.ask(call(*args, **kwargs))

    return ask


class Client:
    """The daemon behind one socket. `timeout_s` bounds each call as a whole; every method raises `ClientError`.

    Each call has a connection of its own, so that any number of threads may share a client, and a daemon may be
    started anew between two calls. A call that never left, and one that only reads, is tried a second time.
    """

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
    def status(self, agent: None = None, *, deep: bool = False) -> DaemonStatus: ...

    @overload
    def status(self, agent: str, *, deep: bool = False) -> AgentStatus: ...

    def status(self, agent: str | None = None, *, deep: bool = False) -> Any:
        """The state of the daemon with all its agents, or of one agent; `deep` tries the embedding providers, too."""
        if agent is None:
            return self.ask(calls.daemon_status(deep=deep))
        return self.ask(calls.agent_status(agent, deep=deep))

    def events(self, *, after: int | None = None, once: bool = False, silence_s: float = SILENCE_S) -> Iterator[Event]:
        """What happens, as it happens, until the daemon stops; `after` is the id of the last event that is known.

        With `once` it ends behind the events that are kept. No event for `silence_s` seconds is a `DeadlineError`:
        at least a heartbeat comes every 15. Close the iterator, or let it go, to stop listening.
        """
        exchange = Exchange(calls.events(after=after, once=once))
        with failures_named(self.path, silence_s):
            deadline = _Deadline(silence_s)
            with _connected(self.path, deadline) as connection:
                _send(connection, exchange, deadline)
                while not exchange.is_complete:
                    exchange.feed(_receive(connection, deadline))
                    for event in exchange.lines():
                        yield cast("Event", event)
                        deadline = _Deadline(silence_s)

    def ask(self, call: Call[Answer]) -> Answer:
        """Make a call of `sidecar.client.calls`."""
        with failures_named(self.path, self.timeout_s):
            deadline = _Deadline(self.timeout_s)
            try:
                return self._attempt(call, deadline)
            except OSError as error:
                if not may_repeat(call, error):
                    raise
            time.sleep(min(AGAIN_S, deadline.left_s()))
            return self._attempt(call, deadline)

    def _attempt(self, call: Call[Answer], deadline: _Deadline) -> Answer:
        exchange = Exchange(call)
        with _connected(self.path, deadline) as connection:
            _send(connection, exchange, deadline)
            while not exchange.is_complete:
                exchange.feed(_receive(connection, deadline))
        return exchange.answer()


class _Deadline:
    """A moment by which all is to be done, however little by little it goes on."""

    def __init__(self, after_s: float) -> None:
        self._at = time.monotonic() + after_s

    def left_s(self) -> float:
        """The time that is left. Raises `TimeoutError` when none is."""
        left_s = self._at - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        return left_s


@contextmanager
def _connected(path: Path, deadline: _Deadline) -> Iterator[socket]:
    while (connection := dial(path)) is None:
        time.sleep(min(QUEUED_S, deadline.left_s()))
    with connection:
        yield connection


def _send(connection: socket, exchange: Exchange[Answer], deadline: _Deadline) -> None:
    connection.settimeout(deadline.left_s())
    try:
        connection.sendall(exchange.request)
    except ConnectionError:
        # A refusal may be there all the same: of a body that is too long, say.
        exchange.was_sent = False


def _receive(connection: socket, deadline: _Deadline) -> bytes:
    connection.settimeout(deadline.left_s())
    try:
        return connection.recv(RECEIVED_BYTES)
    except ConnectionResetError:
        return b""
