"""The client for Node, used alone, against servers that hang, trickle, break off and talk nonsense."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.openclaw.node import NODE, PLUGIN, needs_node
from tests.sidecar.client.conftest import Scripted, reply, sends, stays

pytestmark = needs_node
Start = Callable[..., Scripted]
HALF = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"
ERROR = b'{"error": {"code": "body_too_large", "message": "m", "hint": "h"}}'
MODULE = f'const {{ Client }} = await import("{PLUGIN / "client.js"}");'
CALL = """
const [socketPath, timeoutMs, agent] = JSON.parse(process.argv[1]);
try {
  console.log(JSON.stringify(await new Client({ socketPath, timeoutMs }).search(agent, { query: "boat" })));
} catch ({ name, code, hint, status }) {
  console.log(JSON.stringify({ name, code, hint, status }));
}
"""


def run(script: str, told: Any) -> Any:
    """What a script prints, which is told something."""
    command = [NODE, "--input-type=module", "--eval", MODULE + script, "--", json.dumps(told)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return json.loads(done.stdout)


def ask(path: Path, *, timeout_s: float = 20, agent: str = "main") -> Any:
    """The reply to a search, or the error."""
    return run(CALL, [str(path), timeout_s * 1000, agent])


@pytest.mark.parametrize("said", [b"", HALF])
def test_a_server_that_hangs_meets_the_deadline(scripted: Start, said: bytes) -> None:
    """Before the first byte and after it."""
    assert ask(scripted(stays(said)).path, timeout_s=0.2)["code"] == "timeout"


def test_a_server_that_trickles_meets_the_deadline(scripted: Start) -> None:
    """The deadline is one of the whole exchange."""
    over = threading.Event()

    def trickle(connection: socket.socket) -> None:
        sends(HALF)(connection)
        while not over.wait(0.02):
            connection.sendall(b" ")

    assert ask(scripted(trickle).path, timeout_s=0.3)["code"] == "timeout"
    over.set()


@pytest.mark.parametrize(
    "said",
    [b"", HALF, b"SSH-2.0-OpenSSH_9.6\r\n\r\n", reply(b"<html>"), reply(b"[1]"), reply(b""), reply(b"[" * 200_000)],
)
def test_something_else_at_the_socket_is_a_bad_reply(scripted: Start, said: bytes) -> None:
    """Said, not crashed on."""
    assert ask(scripted(sends(said)).path)["code"] == "bad_reply"


def test_a_flood_is_cut_off(scripted: Start) -> None:
    """A hundred megabytes are not kept, let alone read to their end."""
    sent = []

    def flood(connection: socket.socket) -> None:
        sends(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n")(connection)
        for _ in range(100):
            connection.sendall(bytes(1 << 20))
            sent.append(1)

    assert ask(scripted(flood).path)["code"] == "bad_reply"
    assert len(sent) < 70


def test_an_error_envelope_is_thrown(scripted: Start) -> None:
    """With its status, code and hint."""
    refused = {"name": "DaemonError", "code": "body_too_large", "hint": "h", "status": 413}
    assert ask(scripted(sends(reply(ERROR, status=413))).path) == refused


def test_nobody_at_the_socket_is_not_running(folder: Path) -> None:
    """With the way to start it."""
    found = ask(folder / "none.sock")
    assert (found["code"], found["hint"]) == ("not_running", "qmd-sidecar run")


@pytest.mark.parametrize("agent", ["\ud800", "a/../b", "a?b#c", ""])
def test_any_text_may_be_asked_for_as_an_agent(scripted: Start, agent: str) -> None:
    """It is one part of the path, whatever it holds."""
    asked: list[bytes] = []
    assert ask(scripted(sends(reply(b"{}"), asked=asked)).path, agent=agent) == {}
    line = asked[0].partition(b"\r\n")[0]
    assert line.count(b"/") == 5
    assert line.endswith(b"/memory_search HTTP/1.1")


def test_a_caller_that_aborts_gets_its_own_reason(scripted: Start) -> None:
    """And the connection is closed."""
    script = """
    const caller = new AbortController();
    const call = new Client({ socketPath: JSON.parse(process.argv[1]) }).agents({ signal: caller.signal });
    caller.abort(new Error("enough"));
    await call.catch((error) => console.log(JSON.stringify(error.message)));
    """
    assert run(script, str(scripted(stays()).path)) == "enough"
