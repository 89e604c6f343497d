"""The daemon under a service manager: what it says, when it falls silent, and a socket that was there before it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import pytest

from sidecar.client import Client
from tests.running import Running, running, until

#: Opens a socket, hands it to the program after it as descriptor 3, and becomes that program.
HAND_OVER = """
import os, socket, sys
sock = socket.socket(socket.AF_UNIX)
sock.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o640)
sock.listen()
os.dup2(sock.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES="api")
os.execv(sys.argv[2], sys.argv[2:])
"""

#: A daemon whose loop, and nothing else of it, stops at SIGUSR2 until SIGUSR1.
BLOCKABLE = """
import signal, sys
signal.signal(signal.SIGUSR2, lambda *_: signal.sigwait({signal.SIGUSR1}))
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
sys.argv = sys.argv[3:]
from sidecar.cli import main
main()
"""


class Manager:
    """Hears what the daemon says, as systemd would; all the time, since few messages wait for a listener."""

    def __init__(self, folder: Path) -> None:
        self.address = str(folder / "notify")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.address)
        self._messages: SimpleQueue[str] = SimpleQueue()
        self._thread = Thread(target=self._listen)
        self._thread.start()
        self.lines: list[str] = []

    def _listen(self) -> None:
        while message := self._socket.recv(4096):
            self._messages.put(message.decode())

    def hear(self, timeout_s: float) -> bool:
        """Wait for one message; False when none comes."""
        try:
            self.lines += self._messages.get(timeout=timeout_s).splitlines()
        except Empty:
            return False
        return True

    def until(self, line: str) -> None:
        """Hear until a line comes; it and what came before it are forgotten."""
        while line not in self.lines:
            assert self.hear(60), f"{line} did not come: {self.lines}"
        del self.lines[: self.lines.index(line) + 1]

    def close(self) -> None:
        """Hear no more: an empty message is the last."""
        self._socket.sendto(b"", self.address)
        self._thread.join()
        self._socket.close()


@pytest.fixture(scope="module")
def manager() -> Iterator[Manager]:
    """A manager at a short path."""
    with TemporaryDirectory(prefix="qs-") as folder:
        manager = Manager(Path(folder))
        yield manager
        manager.close()


def config(folder: Path) -> dict[str, Any]:
    """One agent with one note."""
    (folder / "workspace" / "memory").mkdir(parents=True, exist_ok=True)
    (folder / "workspace" / "memory" / "a.md").write_text("The boat leaves at nine.\n", encoding="utf-8")
    return {"memory": {"backend": "builtin"}, "agents": {"defaults": {"workspace": str(folder / "workspace")}}}


@contextmanager
def activated(folder: Path, *within: str, **environ: str) -> Iterator[Running]:
    """A daemon behind a command that opens the socket at the place it is given as `{}`, and hands it over."""
    with TemporaryDirectory(prefix="qs-") as short:
        path = Path(short) / "ours.sock"
        command = [word.replace("{}", str(path)) for word in within]
        with running(folder, config(folder), wait=False, within=command, path=os.environ["PATH"], **environ) as daemon:
            until(path.exists, what="the socket")
            daemon.client = Client(path, timeout_s=60)
            until(daemon.ready, what="readiness")
            yield daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, manager: Manager) -> Iterator[Running]:
    """A daemon that was started as systemd starts one, with a manager, a watchdog and a socket."""
    watched = {"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "300000"}
    within = (sys.executable, "-c", HAND_OVER, "{}", sys.executable, "-c", BLOCKABLE)
    with activated(tmp_path_factory.mktemp("service"), *within, **watched) as daemon:
        yield daemon


def test_ready_is_said_when_it_is_and_then_how_the_agents_are(daemon: Running, manager: Manager) -> None:
    """The first message of all, and signs of life from then on."""
    assert manager.hear(60)
    assert manager.lines[0] == "READY=1"
    manager.until("STATUS=1 agent: 1 ready")
    manager.until("WATCHDOG=1")


def test_a_reload_is_told_from_its_beginning_to_its_end(daemon: Running, manager: Manager) -> None:
    """What `systemctl reload` sends and waits for."""
    daemon.process.send_signal(signal.SIGHUP)
    manager.until("RELOADING=1")
    manager.until("READY=1")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_child_can_speak_for_the_daemon(daemon: Running) -> None:
    """Neither the manager's variables nor the socket's descriptor reach the worker."""
    daemon.sync("main", force=True)
    worker = daemon.call("GET", "/v1/status")["worker"]["pid"]
    variables = Path(f"/proc/{worker}/environ").read_bytes()
    assert not [name for name in (b"NOTIFY_SOCKET", b"WATCHDOG_", b"LISTEN_") if name in variables]
    socket_of_ours = Path(f"/proc/{daemon.process.pid}/fd/3").readlink()
    assert socket_of_ours not in [link.readlink() for link in Path(f"/proc/{worker}/fd").iterdir()]


def test_a_loop_that_hangs_gives_no_sign_of_life(daemon: Running, manager: Manager) -> None:
    """Although all other threads go on; and the manager hears again of a loop that comes back."""
    daemon.process.send_signal(signal.SIGUSR2)
    until(lambda: not manager.hear(0.5), what="silence")
    daemon.process.send_signal(signal.SIGUSR1)
    manager.until("WATCHDOG=1")


def test_clients_are_led_to_the_socket_that_was_handed_over(daemon: Running) -> None:
    """Wherever the configuration would have put one."""
    pointer = json.loads((daemon.state / "run" / "daemon.json").read_text(encoding="utf-8"))
    assert pointer["socket"] == str(daemon.client.path)
    assert daemon.call("GET", "/v1/info")["socket"] == str(daemon.client.path)


def test_the_end_is_said_and_the_socket_is_left(daemon: Running, manager: Manager) -> None:
    """File, owner and mode are the manager's, before and after."""
    assert stat.S_IMODE(daemon.client.path.stat().st_mode) == 0o640
    assert daemon.stop() == 0
    manager.until("STOPPING=1")
    assert stat.S_IMODE(daemon.client.path.stat().st_mode) == 0o640


@pytest.mark.skipif(shutil.which("systemd-socket-activate") is None, reason="systemd-socket-activate is not here")
def test_the_first_call_starts_the_daemon_and_is_answered(tmp_path: Path) -> None:
    """With systemd's own tool, which starts the daemon only when somebody knocks."""
    kept = [word for name in ("PATH", "HOME", "LANG", "XDG_RUNTIME_DIR") for word in ("-E", name)]
    with activated(tmp_path, "systemd-socket-activate", "-l", "{}", "--fdname=api", *kept) as daemon:
        assert daemon.stop() == 0
        assert daemon.client.path.exists()
