"""Both clients, and servers that behave as a test tells them to."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any, Protocol

import pytest

from sidecar.client import AsyncClient, Client

#: What is done with a connection; afterwards it is closed.
Behaviour = Callable[[socket.socket], None]


class Ask(Protocol):
    """A call by its name, through one of the two clients."""

    def __call__(self, path: Path, name: str, /, *args: Any, timeout_s: float = 20, **body: Any) -> Any: ...


def _in_a_thread(path: Path, name: str, /, *args: Any, timeout_s: float = 20, **body: Any) -> Any:
    return getattr(Client(path, timeout_s=timeout_s), name)(*args, **body)


def _in_a_loop(path: Path, name: str, /, *args: Any, timeout_s: float = 20, **body: Any) -> Any:
    async def ask() -> Any:
        return await getattr(AsyncClient(path, timeout_s=timeout_s), name)(*args, **body)

    return asyncio.run(ask())


@pytest.fixture(params=[_in_a_thread, _in_a_loop], ids=["threads", "asyncio"])
def ask(request: pytest.FixtureRequest) -> Any:
    """One client after the other."""
    return request.param


def _heard_in_a_thread(path: Path, **asked: Any) -> list[Any]:
    return list(Client(path).events(**asked))


def _heard_in_a_loop(path: Path, **asked: Any) -> list[Any]:
    async def hear() -> list[Any]:
        return [event async for event in AsyncClient(path).events(**asked)]

    return asyncio.run(hear())


@pytest.fixture(params=[_heard_in_a_thread, _heard_in_a_loop], ids=["threads", "asyncio"])
def hear(request: pytest.FixtureRequest) -> Any:
    """Every event that a client is told, up to the end."""
    return request.param


class Scripted:
    """A server that does with each connection what its turn in the script says."""

    def __init__(self, path: Path, *script: Behaviour) -> None:
        self.path = path
        self._script = script
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        for behaviour in self._script:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                behaviour(connection)

    @property
    def connections_left(self) -> bool:
        """Whether a turn of the script was not needed."""
        return self._thread.is_alive()

    def close(self) -> None:
        """End it, whatever it waits for."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(20)
        assert not self._thread.is_alive()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a path that is short enough for sockets."""
    path = Path(tempfile.mkdtemp(prefix="qs", dir="/tmp"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def scripted(folder: Path) -> Iterator[Callable[..., Scripted]]:
    """Start a server by its script; ended behind the test."""
    started: list[Scripted] = []

    def start(*script: Behaviour) -> Scripted:
        started.append(Scripted(folder / f"{len(started)}.sock", *script))
        return started[-1]

    yield start
    for server in started:
        server.close()


def sends(*pieces: bytes, asked: list[bytes] | None = None) -> Behaviour:
    """Read a request, which is put into `asked`, answer with these bytes, and hang up."""

    def behave(connection: socket.socket) -> None:
        request = connection.recv(65_536)
        if asked is not None:
            asked.append(request)
        for piece in pieces:
            connection.sendall(piece)

    return behave


def stays(*pieces: bytes, asked: list[bytes] | None = None) -> Behaviour:
    """The same, but wait for the other side to hang up."""

    def behave(connection: socket.socket) -> None:
        sends(*pieces, asked=asked)(connection)
        while connection.recv(65_536):
            pass

    return behave


def hangs_up(connection: socket.socket) -> None:
    """Read nothing, say nothing."""


def reply(body: bytes, status: int = 200) -> bytes:
    """A whole reply."""
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)
