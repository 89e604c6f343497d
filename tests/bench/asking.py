"""The ways to ask: through a daemon's socket, a resident `qmd mcp` without us, and a spawned `qmd search`."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from backends.qmd.command import ROW_LIMIT
from backends.qmd.resident import PROTOCOL
from backends.qmd.terms import terms_of
from tests.running import Running, real_qmd_path

#: What the default roots of an agent are called that hold the notes of the benchmark.
COLLECTION = "memory-dir"


class Session:
    """One connection to the daemon, kept open as a gateway would; by hand, so that the client is not what is timed."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(120)
        self._socket.connect(str(path))

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def search(self, question: str) -> dict[str, Any]:
        """One search with the default limits."""
        body = {"query": question, "sessionKey": "agent:main:main"}
        reply: dict[str, Any] = json.loads(self.post("/v1/agents/main/memory_search", json.dumps(body).encode()))
        return reply

    def post(self, route: str, body: bytes) -> bytes:
        """The body of one reply, as it came."""
        head = f"POST {route} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        self._socket.sendall(head.encode() + body)
        received = bytearray()
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._socket.recv(65536)
        length = int(re.search(rb"(?i)content-length: (\d+)", received[:end])[1])  # type: ignore[index]
        while len(received) < end + 4 + length:
            received += self._socket.recv(65536)
        return bytes(received[end + 4 :])


class Direct:
    """A resident `qmd mcp`, asked what the daemon asks its own: the same searches, limit and collections."""

    def __init__(self, process: subprocess.Popen[bytes], collections: list[str]) -> None:
        self._process = process
        self._collections = collections
        self._numbers = itertools.count(1)

    def introduce(self) -> None:
        """Say hello, as the protocol wants it."""
        client = {"name": "bench", "version": "1"}
        self._call("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def search(self, question: str) -> dict[str, Any]:
        """One call of the tool `query`."""
        arguments = {
            "searches": [{"type": "lex", "query": word} for word in terms_of(question, None).words],
            "collections": self._collections,
            "limit": ROW_LIMIT,
            "candidateLimit": ROW_LIMIT,
            "rerank": False,
        }
        return self._call("tools/call", {"name": "query", "arguments": arguments})

    def _call(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            # Native libraries print to standard output, too.
            message = json.loads(line) if line.startswith(b"{") else {}
            if message.get("id") == number:
                result: dict[str, Any] = message["result"]
                return result
        raise EOFError("qmd mcp has ended")

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


@contextmanager
def direct(daemon: Running) -> Iterator[Direct]:
    """A second resident on the index of a daemon's agent."""
    collections = daemon.call("GET", "/v1/agents/main/status")["engines"]["qmd"]["collections"]
    command, environ, folder = _on_the_index_of(daemon, "mcp")
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, env=environ, cwd=folder, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True
    )
    with process:
        resident = Direct(process, list(collections))
        resident.introduce()
        yield resident


def spawned(daemon: Running, question: str) -> None:
    """The same searches as the resident is asked, by a process of its own, on the index of the daemon's agent.

    One word is a plain `qmd search`; a question is a `lex` line for each of its words, which bare `qmd search` would
    all want to find in one note.
    """
    words = terms_of(question, None).words
    typed = "\n".join(f"lex: {word}" for word in words)
    limits = ("--json", "-n", str(ROW_LIMIT), "-c", COLLECTION)
    one = len(words) == 1
    verb = ("search", *limits, "--", words[0]) if one else ("query", "--no-rerank", *limits, "--", typed)
    command, environ, folder = _on_the_index_of(daemon, *verb)
    nothing = subprocess.DEVNULL
    subprocess.run(command, env=environ, cwd=folder, stdin=nothing, capture_output=True, check=True, timeout=60)


def _on_the_index_of(daemon: Running, *words: str) -> tuple[list[str], dict[str, str], Path]:
    """A command line of qmd with the environment and the folder of the daemon's agent."""
    home = daemon.state / "agents" / "main" / "qmd"
    environ = {
        **os.environ,
        "PATH": real_qmd_path(),
        "XDG_CONFIG_HOME": str(home / "xdg-config"),
        "XDG_CACHE_HOME": str(home / "xdg-cache"),
        "QMD_CONFIG_DIR": str(home / "xdg-config" / "qmd"),
        "NO_COLOR": "1",
    }
    # Found on that PATH: `subprocess` itself looks along our own.
    program = shutil.which("qmd", path=environ["PATH"]) or "qmd"
    return [program, *words], environ, home / "work"
