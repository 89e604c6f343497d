"""The server as a process: what it writes, when it ends, and what it does without a daemon."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from sidecar.cli.exits import VerbError
from sidecar.client import Client
from sidecar.mcp.asking import Asker
from sidecar.mcp.starting import Starting
from sidecar.mcp.tools import TOOLS
from tests.running import until
from tests.sidecar.cli.fake_daemon import FakeDaemon

LINES = {"path": "a.md", "text": "x", "from": 1, "lines": 1}
GET = ("POST", "/v1/agents/main/memory_get")
SEARCH = ("POST", "/v1/agents/main/memory_search")


class Session:
    """A client that writes the protocol by hand."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.say(
            id=0,
            method="initialize",
            params={
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        )
        self.hear()
        self.say(method="notifications/initialized")

    def say(self, **message: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def write(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def call(self, number: int, tool: str, **arguments: Any) -> None:
        self.say(id=number, method="tools/call", params={"name": tool, "arguments": arguments})

    def hear(self) -> dict[str, Any]:
        """The next line that the server writes, which is always protocol."""
        assert self.process.stdout
        message: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert message["jsonrpc"] == "2.0"
        return message

    def told(self) -> str:
        """The text of the next result."""
        return str(self.hear()["result"]["content"][0]["text"])


@contextmanager
def serving(environ: dict[str, str], *flags: str) -> Iterator[Session]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "sidecar", "mcp", "--agent", "main", *flags]
    with subprocess.Popen(command, env=environ, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield Session(process)
        finally:
            process.kill()


@pytest.fixture
def hung(daemon: FakeDaemon) -> Iterator[threading.Event]:
    """A daemon that reads and answers no search; set when one has come."""
    arrived, over = threading.Event(), threading.Event()

    def hang(handler: BaseHTTPRequestHandler) -> None:
        arrived.set()
        over.wait(60)

    daemon.routes[SEARCH] = hang
    daemon.routes[GET] = (200, LINES)
    yield arrived
    over.set()


def test_a_call_that_hangs_holds_up_no_other_and_can_be_cancelled(
    environ: dict[str, str], hung: threading.Event
) -> None:
    """What was cancelled is never answered."""
    with serving(environ) as session:
        session.call(1, "memory_search", query="boat")
        assert hung.wait(30)
        session.call(2, "memory_get", path="a.md")
        assert session.hear()["id"] == 2
        session.say(method="notifications/cancelled", params={"requestId": 1})
        session.call(3, "memory_get", path="a.md")
        assert session.hear()["id"] == 3


def test_it_ends_with_its_client_whatever_it_waits_for(environ: dict[str, str], hung: threading.Event) -> None:
    """A parent that dies closes standard input, and that is all it does."""
    with serving(environ) as session:
        session.call(1, "memory_search", query="boat")
        assert hung.wait(30)
        assert session.process.stdin
        session.process.stdin.close()
        assert session.process.wait(30) == 0
        assert session.process.stderr
        assert session.process.stderr.read() == b""


def test_an_interrupt_ends_it(environ: dict[str, str], daemon: FakeDaemon) -> None:
    """Though a thread waits for input."""
    with serving(environ) as session:
        session.process.send_signal(signal.SIGINT)
        assert session.process.wait(30) == -signal.SIGINT


def test_what_is_no_message_is_neither_answered_nor_told(environ: dict[str, str], daemon: FakeDaemon) -> None:
    """A broken line may hold a question."""
    daemon.routes[GET] = (200, LINES)
    with serving(environ) as session:
        session.write(b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": ["walnuts"]')
        session.write(b"walnuts \xff\xfe")
        session.call(2, "memory_get", path="a.md")
        assert session.hear()["id"] == 2
        assert session.process.stdin
        session.process.stdin.close()
        assert session.process.stderr
        assert session.process.stderr.read() == b""


def test_a_daemon_that_is_not_there_is_told_with_how_to_start_it_and_found_when_it_comes(
    environ: dict[str, str], daemon: FakeDaemon
) -> None:
    """Each call looks anew: daemons are restarted while clients run on."""
    daemon.close()
    with serving(environ) as session:
        session.call(1, "memory_get", path="a.md")
        first, last = session.told().splitlines()
        assert first.startswith("not_running: ")
        assert last == "next step: qmd-sidecar run, or give `qmd-sidecar mcp` the flag --start-daemon"
        again = FakeDaemon(daemon.path)
        try:
            again.routes[GET] = (200, LINES)
            session.call(2, "memory_get", path="a.md")
            assert session.told() == "x"
        finally:
            again.close()


def test_it_asks_as_the_operator_unless_told_otherwise(daemon: FakeDaemon) -> None:
    """The key is the user's to give."""
    daemon.routes[GET] = (200, LINES)
    for key in (None, "agent:main:main"):
        TOOLS["memory_get"].call(Asker(lambda: Client(daemon.path), session_key=key), {"path": "a.md", "from": 3})
    asked = {"path": "a.md", "from": 3}
    assert daemon.bodies(GET[1]) == [
        {**asked, "sessionKey": "agent:main:cli:mcp"},
        {**asked, "sessionKey": "agent:main:main"},
    ]


def test_it_starts_the_daemon_when_asked_to(environ: dict[str, str], folder: Path) -> None:
    """One for two servers that find none, and it outlives them."""
    socket = Path(environ["XDG_RUNTIME_DIR"]) / "qmd-sidecar" / "sidecar.sock"
    with serving(environ, "--start-daemon") as one, serving(environ, "--start-daemon") as other:
        for session in (one, other):
            session.call(1, "memory_get", path="MEMORY.md")
        assert {session.told().splitlines()[0] for session in (one, other)} == {"MEMORY.md does not exist"}
    client = Client(socket)
    assert client.info()["socket"] == str(socket)
    client.shutdown()
    until(lambda: not socket.exists(), what="the end of the daemon")


def test_a_daemon_that_cannot_start_says_why(folder: Path) -> None:
    """In its own words."""
    absent = Client(folder / "s.sock")

    def nobody() -> Client:
        absent.knock()
        return absent

    command = ["sh", "-c", "echo 'error: memory.backend: should be qmd' >&2; exit 78"]
    with pytest.raises(VerbError, match=r"did not start\nerror: memory\.backend: should be qmd") as failed:
        Starting(nobody, command, folder / "log")()
    assert failed.value.code == "not_started"
    assert (folder / "log").stat().st_mode & 0o777 == 0o700
    assert (folder / "log" / "started.log").stat().st_mode & 0o777 == 0o600
