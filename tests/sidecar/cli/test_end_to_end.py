"""The command line against the real daemon, as two processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

DEADLINE_S = 60


@pytest.fixture
def quiet(environ: dict[str, str]) -> dict[str, str]:
    """The isolated environment without a qmd on PATH: what the tests see is the built-in engine."""
    return environ | {"PATH": "/usr/bin:/bin", "PYTHONUNBUFFERED": "1"}


class Running:
    """`qmd-sidecar run --tour` in a child, with all that it printed to standard output."""

    def __init__(self, environ: dict[str, str], errors: Path) -> None:
        self.environ = environ
        with errors.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "sidecar", "run", "--tour"],
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                encoding="utf-8",
            )
        self.errors = errors
        self.printed = ""

    def until(self, text: str) -> None:
        """Read what it prints up to a line with `text`; a daemon that says nothing is ended at the deadline."""
        timer = threading.Timer(DEADLINE_S, self.process.kill)
        timer.start()
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.printed += line
            if text in line:
                break
        timer.cancel()
        assert text in self.printed, self.errors.read_text(encoding="utf-8")[-2000:]

    def cli(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run another verb against it."""
        return subprocess.run(
            [sys.executable, "-m", "sidecar", *args],
            env=self.environ,
            capture_output=True,
            encoding="utf-8",
            timeout=DEADLINE_S,
        )

    def end(self) -> None:
        """End it if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=DEADLINE_S)


@pytest.fixture
def running(quiet: dict[str, str], folder: Path) -> Iterator[Running]:
    """A daemon on the sample workspace that has finished its tour."""
    daemon = Running(quiet, folder / "stderr")
    try:
        daemon.until("Ctrl-C stops")
        yield daemon
    finally:
        daemon.end()


def test_the_tour_answers_its_question(running: Running) -> None:
    """From nothing at all to an answered question, with its source and its engine."""
    assert "half past two" in running.printed
    assert "by builtin" in running.printed
    assert "qmd was not found on PATH" in running.printed
    assert "memory/" in running.printed


def test_search_get_and_status_agree(running: Running) -> None:
    """What search shows can be got, and status knows the agent."""
    found = json.loads(running.cli("search", "when does the summer boat leave?", "--json").stdout)
    hit = found["results"][0]
    assert "06:40" in hit["snippet"]
    got = running.cli("get", f"{hit['path']}:{hit['startLine']}-{hit['endLine']}")
    assert got.stdout.rstrip("\n") == hit["snippet"].removesuffix(f"\n\nSource: {hit['citation']}")
    assert "main " in running.cli("status").stdout
    assert running.cli("status", "main").returncode == 0
    assert running.cli("sync", "--wait").returncode == 0


def test_a_session_out_of_scope_is_denied(running: Running) -> None:
    """The default rules let no group chat read, by either verb."""
    group = ["--session", "agent:main:slack:group:c1"]
    assert running.cli("search", "boat", *group).returncode == 5
    assert running.cli("get", "MEMORY.md", *group).returncode == 5


def test_stop_ends_the_daemon(running: Running) -> None:
    """After `stop` the process is gone with exit code 0, and client verbs say that nothing runs."""
    assert running.cli("stop").returncode == 0
    assert running.process.wait(DEADLINE_S) == 0
    assert running.cli("status").returncode == 3


def test_a_second_daemon_is_refused(running: Running) -> None:
    """Two daemons on one state folder would write one index; the second says so and ends."""
    second = running.cli("run")
    assert second.returncode == 1
    assert "try:" in second.stderr


def test_ctrl_c_ends_the_daemon(running: Running) -> None:
    """SIGINT is an orderly stop."""
    os.kill(running.process.pid, signal.SIGINT)
    assert running.process.wait(DEADLINE_S) == 0
