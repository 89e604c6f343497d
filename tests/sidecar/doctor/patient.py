"""Somebody with a memory, and a shell: ask `qmd-sidecar doctor`, and do what it says."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from sidecar.cli import command
from sidecar.client import Client, ClientError
from sidecar.doctor.catalogue import Code
from tests.fake_qmd import FakeQmd
from tests.running import path_without_qmd, until

NOTE = "# Boat\n\nThe timetable of the ferry to Corvo hangs behind the harbour office.\n"
DEADLINE_S = 60.0


@dataclass(frozen=True)
class Patient:
    """A home folder with one note; `environ` is that of the shell, in which `qmd-sidecar` is a command."""

    home: Path
    environ: dict[str, str] = field(default_factory=dict)
    shells: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @classmethod
    def born(cls, home: Path, **config: Any) -> Patient:
        """With a configuration, and a PATH that holds no qmd."""
        (home / "ws" / "memory").mkdir(parents=True)
        (home / "rt").mkdir(mode=0o700)
        (home / "ws" / "memory" / "2026-11-01.md").write_text(NOTE)
        tools = home / "command"
        tools.mkdir()
        kept = {key: value for key, value in os.environ.items() if key.startswith(("OPENBLAS", "PYTHON"))}
        patient = cls(home)
        patient.environ.update(
            kept,
            HOME=str(home),
            PATH=f"{tools}:{path_without_qmd(home)}:/usr/bin:/bin",
            LANG="C.UTF-8",
            XDG_RUNTIME_DIR=str(home / "rt"),
            SIDECAR_CONFIG=str(patient.config),
            SIDECAR_STATE_DIR=str(patient.state),
        )
        patient.configure(**config)
        patient.program("qmd-sidecar", f'exec {sys.executable} -m sidecar "$@"')
        return patient

    @property
    def config(self) -> Path:
        return self.home / "config.json5"

    @property
    def state(self) -> Path:
        return self.home / "state"

    @property
    def socket(self) -> Path:
        return self.home / "rt" / "qmd-sidecar" / "sidecar.sock"

    def configure(self, **config: Any) -> None:
        """Write the configuration."""
        given = {"agents": {"defaults": {"workspace": str(self.home / "ws")}}, **config}
        self.config.write_text(json.dumps(given, indent=1))

    def with_qmd(self, **options: Any) -> FakeQmd:
        """A qmd for the shell."""
        fake = FakeQmd.install(self.home, **options)
        self.environ["PATH"] = f"{fake.path.parent}:{self.environ['PATH']}"
        return fake

    def npm(self, script: str) -> None:
        """An npm that does what a script says."""
        self.program("npm", script)

    def program(self, name: str, script: str) -> None:
        """A program of that name on the shell's PATH."""
        file = self.home / "command" / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def leave_running(self, command: str) -> None:
        """Run a command that goes on, as `qmd-sidecar run` does."""
        with (self.home / "daemon.log").open("ab") as log:
            shell = subprocess.Popen(["sh", "-c", command], env=self.environ, stdout=log, stderr=log, cwd=self.home)
        self.shells.append(shell)

    @contextmanager
    def with_daemon(self) -> Iterator[None]:
        """With the daemon that a finding suggests to start; whichever runs at the end is ended."""
        missed = self.found(Code.NOT_RUNNING)
        assert missed is not None
        self.leave_running(missed["command"])
        try:
            until(self.is_ready, what="readiness")
            yield
        finally:
            with contextlib.suppress(ClientError):
                self.client.shutdown()
            for shell in self.shells:
                shell.wait(DEADLINE_S)

    @property
    def client(self) -> Client:
        return Client(self.socket, timeout_s=DEADLINE_S)

    def pid(self) -> int | None:
        """The process of the daemon, None while there is none."""
        try:
            return int(self.client.info()["pid"])
        except ClientError:
            return None

    def is_ready(self) -> bool:
        """Whether the daemon is up and no engine is at work."""
        try:
            agents = self.client.status()["agents"]
        except ClientError:
            return False
        return all(agent["state"] != "indexing" and agent.get("lastSync") for agent in agents)

    def shell(self, command: str) -> None:
        """Run a command and insist on its success."""
        done = subprocess.run(
            ["sh", "-c", command], env=self.environ, capture_output=True, text=True, timeout=DEADLINE_S, cwd=self.home
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def doctor(self, *args: str) -> Result:
        """The verb, as text."""
        return CliRunner().invoke(command, ["doctor", *args], env=self.environ, prog_name="qmd-sidecar")

    def report(self, *only: str, fix: bool = False) -> dict[str, Any]:
        """The verb's JSON about all checks, or some."""
        chosen = [word for name in only for word in ("--only", name)]
        done = self.doctor("--json", *chosen, *(["--fix"] if fix else []))
        assert done.exit_code in (0, 1), done.output
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    def found(self, code: Code) -> dict[str, Any] | None:
        """The first finding of a kind."""
        findings = [finding for check in self.report(code.check)["checks"] for finding in check["findings"]]
        return next((finding for finding in findings if finding["code"] == code.label), None)
