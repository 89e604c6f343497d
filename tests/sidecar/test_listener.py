"""The socket: private from birth, never taken from a living daemon, removed only when ours."""

from __future__ import annotations

import asyncio
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from starlette.types import Receive, Scope, Send

from sidecar.errors import StartupError
from sidecar.gateway.endpoint import Endpoint
from sidecar.gateway.listener import listen
from sidecar.gateway.peer import peer_uid


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short name: socket paths are short."""
    with TemporaryDirectory(prefix="qs-") as name:
        yield Path(name)


def test_the_socket_and_its_folder_are_private(folder: Path) -> None:
    """0600 in 0700, whatever the mask."""
    listener = listen(folder / "run" / "s.sock")
    try:
        assert stat.S_IMODE(listener.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(listener.path.parent.stat().st_mode) == 0o700
    finally:
        listener.close()
    assert not listener.path.exists()


def test_a_stale_socket_is_replaced(folder: Path) -> None:
    """What a killed daemon left behind does not stop the next one."""
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(folder / "s.sock"))
    dead.close()
    listen(folder / "s.sock").close()


def test_a_living_daemon_keeps_its_socket(folder: Path) -> None:
    """The second one is told how to stop the first."""
    listener = listen(folder / "s.sock")
    try:
        with pytest.raises(StartupError) as caught:
            listen(folder / "s.sock")
        assert caught.value.code == "already_running"
    finally:
        listener.close()


def test_a_file_that_is_no_socket_is_left_alone(folder: Path) -> None:
    """Somebody's file is not ours to remove."""
    (folder / "s.sock").write_text("precious", encoding="utf-8")
    with pytest.raises(StartupError) as caught:
        listen(folder / "s.sock")
    assert caught.value.code == "socket_path_taken"
    assert (folder / "s.sock").read_text(encoding="utf-8") == "precious"


def test_a_socket_that_somebody_put_in_our_place_is_not_removed(folder: Path) -> None:
    """Closing removes only what we made."""
    listener = listen(folder / "s.sock")
    (folder / "s.sock").unlink()
    other = socket.socket(socket.AF_UNIX)
    other.bind(str(folder / "s.sock"))
    listener.close()
    other.close()
    assert (folder / "s.sock").exists()


def test_a_path_too_long_for_the_kernel_is_a_configuration_error(folder: Path) -> None:
    """Said before anything is created, with exit code 78."""
    with pytest.raises(StartupError) as caught:
        listen(folder / ("x" * 120) / "s.sock")
    assert (caught.value.code, caught.value.exit_code) == ("socket_path_too_long", 78)
    assert list(folder.iterdir()) == []


def test_the_kernel_names_the_uid_at_the_other_end() -> None:
    """On a pair of our own sockets that is us."""
    one, other = socket.socketpair(socket.AF_UNIX)
    with one, other:
        assert peer_uid(one) == Path.home().stat().st_uid


def test_a_socket_that_cannot_be_laid_again_is_told_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Until whatever took its place has gone; calls on the old one are answered meanwhile."""
    path = folder / "s.sock"

    async def scenario() -> None:
        endpoint = Endpoint(_nobody, path, mode=0o600, group=None, extra_uids=())
        endpoint.start()
        path.unlink()
        path.mkdir()
        for _ in range(3):
            await endpoint.tend()
        assert [record.getMessage() for record in caplog.records] == ["the socket cannot be laid again"]
        path.rmdir()
        await endpoint.tend()
        assert path.is_socket()
        await endpoint.drain()
        endpoint.close()

    asyncio.run(scenario())


async def _nobody(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that nobody asks."""
