"""The real OpenClaw in a state folder of its own: its command line, and its gateway."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.openclaw.node import NODE
from tests.running import REPOSITORY, until

OPENCLAW = REPOSITORY / ".openclaw" / "node_modules" / ".bin" / "openclaw"
TOKEN = "of-the-test"
GATEWAY_DEADLINE_S = 120.0
COMMAND_DEADLINE_S = 120.0


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@dataclass(frozen=True)
class Host:
    """One OpenClaw, with its files in `folder`."""

    folder: Path
    environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        """Its state folder."""
        return self.folder / ".openclaw"

    @property
    def env(self) -> dict[str, str]:
        """The environment of each of its processes: nothing of this machine's user, and no registry."""
        assert NODE is not None
        return {
            "PATH": os.pathsep.join([str(NODE.parent), str(OPENCLAW.parent), os.environ["PATH"]]),
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "OPENCLAW_STATE_DIR": str(self.state),
            "NO_COLOR": "1",
            "npm_config_offline": "true",
            **self.environ,
        }

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Write its configuration file, as its user would."""
        self.state.mkdir(parents=True, exist_ok=True)
        self.state.joinpath("openclaw.json").write_text(json.dumps(settings), encoding="utf-8")

    def settings(self) -> dict[str, Any]:
        """Its configuration file."""
        read: dict[str, Any] = json.loads(self.state.joinpath("openclaw.json").read_text(encoding="utf-8"))
        return read

    def run(self, *arguments: str, ok: bool = True) -> str:
        """What a command of its prints on standard output; fails with all that it said."""
        done = subprocess.run(
            [str(OPENCLAW), *arguments],
            env=self.env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=COMMAND_DEADLINE_S,
        )
        assert (done.returncode == 0) is ok, f"{arguments}\n{done.stdout}\n{done.stderr}"
        return done.stdout if ok else done.stdout + done.stderr

    def sidecar(self, *arguments: str, exit_code: int = 0) -> Any:
        """The JSON that `qmd-sidecar openclaw` prints, in the environment of this host's user."""
        command = [sys.executable, "-m", "sidecar", "openclaw", *arguments, "--json"]
        done = subprocess.run(command, env=self.env, cwd=REPOSITORY, capture_output=True, text=True, timeout=300)
        assert done.returncode == exit_code, f"{arguments}\n{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout)

    def call(self, method: str, **params: Any) -> Any:
        """What the gateway answers to a call."""
        return json.loads(self.run("gateway", "call", method, "--params", json.dumps(params), "--json"))

    def invoke(self, tool: str, session: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers in a session."""
        reply = self.call("tools.invoke", name=tool, sessionKey=session, args=arguments)
        details: dict[str, Any] = reply["output"]["details"]
        return details

    @contextmanager
    def gateway(self) -> Iterator[Path]:
        """Run the gateway, ready; yields its log."""
        log = self.folder / "gateway.log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [str(OPENCLAW), "gateway", "run"],
                env=self.env,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
        try:
            until(lambda: _is_ready(process, log), deadline_s=GATEWAY_DEADLINE_S, what="the gateway")
            yield log
        finally:
            process.terminate()
            try:
                process.wait(20)
            finally:
                # It starts helpers of its own, in its group.
                _end(process.pid)


def _is_ready(process: subprocess.Popen[bytes], log: Path) -> bool:
    said = log.read_text(encoding="utf-8", errors="replace")
    assert process.poll() is None, said
    return "[gateway] ready" in said


def _end(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def gateway_settings(port: int, workspace: Path) -> dict[str, Any]:
    """A gateway on loopback with one agent, that is on nobody's network."""
    return {
        "gateway": {"mode": "local", "bind": "loopback", "port": port, "auth": {"mode": "token", "token": TOKEN}},
        "agents": {"defaults": {"workspace": str(workspace)}},
        # By default it is a folder of /tmp that all gateways of the machine share.
        "logging": {"file": str(workspace.parent / "openclaw.log")},
    }
