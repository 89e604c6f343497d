"""Sockets that were opened for us: taken once, checked, and kept from children."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sidecar.service.activation import inherited
from sidecar.service.folders import adopt

#: Plays the manager's last steps: descriptors from 3 on, our own process id, then the program.
ACTIVATED = """
import os, subprocess, sys
from sidecar.errors import StartupError
from sidecar.service.activation import inherited, path_of
os.environ["LISTEN_PID"] = str(os.getpid())
try:
    sock = inherited(os.environ, pid=os.getpid())
    print("none" if sock is None else f"{sock.fileno()} {path_of(sock)}")
except StartupError as error:
    print(error.code)
print(sorted(name for name in os.environ if name.startswith("LISTEN")))
look = "for number in 3 4; do [ -S /dev/fd/$number ] && echo $number; done"
child = subprocess.run(["/bin/sh", "-c", look], capture_output=True, encoding="utf-8", close_fds=False)
print(child.stdout.split() or "no descriptor")
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short name: socket paths are short."""
    with TemporaryDirectory(prefix="qs-") as name:
        yield Path(name)


def listening(path: Path | str) -> socket.socket:
    """A Unix socket that listens."""
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(path))
    sock.listen()
    return sock


def activated(*sockets: socket.socket, names: str = "", count: str | None = None) -> list[str]:
    """Hand sockets over, from descriptor 3 on, and the lines that the other side says of them."""
    moves = " ".join(f"{number}<&{sock.fileno()}" for number, sock in enumerate(sockets, 3))
    ran = subprocess.run(
        ["/bin/bash", "-c", f'exec "$0" -c "$1" {moves}', sys.executable, ACTIVATED],
        env={**os.environ, "LISTEN_FDS": count or str(len(sockets)), "LISTEN_FDNAMES": names},
        pass_fds=[sock.fileno() for sock in sockets],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    return ran.stdout.splitlines()


def test_the_only_socket_is_ours_whatever_its_name(folder: Path) -> None:
    """And no child finds the variables or the descriptor."""
    with listening(folder / "s.sock") as sock:
        assert activated(sock) == [f"3 {folder / 's.sock'}", "[]", "no descriptor"]


def test_of_several_the_one_that_is_named_api(folder: Path) -> None:
    """The others are somebody's mistake, and stay closed in children, too."""
    with listening(folder / "a.sock") as first, listening(folder / "b.sock") as second:
        assert activated(first, second, names="metrics:api") == [f"4 {folder / 'b.sock'}", "[]", "no descriptor"]


def test_a_port_is_refused() -> None:
    """Every user of the machine could call, and none could be told from another."""
    with socket.create_server(("127.0.0.1", 0)) as port:
        assert activated(port)[0] == "activation_unusable"


def test_a_socket_that_does_not_listen_is_refused(folder: Path) -> None:
    """`Accept=yes` hands over a single connection."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(folder / "s.sock"))
        assert activated(sock)[0] == "activation_unusable"


@pytest.mark.skipif(sys.platform != "linux", reason="abstract addresses are Linux's")
def test_an_abstract_socket_is_refused() -> None:
    """It has no owner and no mode."""
    with listening(f"\0qmd-sidecar-test-{os.getpid()}") as sock:
        assert activated(sock)[0] == "activation_unusable"


def test_descriptors_that_are_not_there_are_told(folder: Path) -> None:
    """Rather than a crash at the first accept."""
    with listening(folder / "s.sock") as sock:
        assert activated(sock, count="7")[0] == "activation_unusable"


@pytest.mark.parametrize("variables", [{}, {"LISTEN_PID": "8", "LISTEN_FDS": "1"}, {"LISTEN_PID": "7"}])
def test_what_was_meant_for_another_process_is_left_alone(variables: dict[str, str]) -> None:
    """A daemon below a service inherits the variables of the service."""
    assert inherited(dict(variables), pid=7) is None


def test_the_folders_of_our_unit_stand_for_base_folders() -> None:
    """Only what is not named otherwise; the first of several."""
    environ = {"SYSTEMD_EXEC_PID": "7", "RUNTIME_DIRECTORY": "/run/a:/run/b", "STATE_DIRECTORY": "/var/lib/a"}
    adopt(environ, pid=7)
    assert (environ["XDG_RUNTIME_DIR"], environ["XDG_STATE_HOME"]) == ("/run/a", "/var/lib/a")
    named = {"SYSTEMD_EXEC_PID": "7", "RUNTIME_DIRECTORY": "/run/a", "XDG_RUNTIME_DIR": "/run/user/1"}
    adopt(named, pid=7)
    assert named["XDG_RUNTIME_DIR"] == "/run/user/1"


def test_the_folders_of_another_unit_are_not_ours() -> None:
    """A gateway that is a service itself may call us: its folders are not the daemon's."""
    environ = {"SYSTEMD_EXEC_PID": "7", "RUNTIME_DIRECTORY": "/run/gateway", "STATE_DIRECTORY": "/var/lib/gateway"}
    adopt(environ, pid=8)
    assert "XDG_RUNTIME_DIR" not in environ
    assert "XDG_STATE_HOME" not in environ


@pytest.mark.parametrize("count", ["00", "-1", "one", "9" * 5000])
def test_a_number_that_is_none_hands_nothing_over(count: str) -> None:
    """No manager writes it, and the daemon makes a socket of its own."""
    assert inherited({"LISTEN_PID": "7", "LISTEN_FDS": count}, pid=7) is None
