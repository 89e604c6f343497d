"""`qmd-sidecar stop`."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler

import pytest

from sidecar.cli import stop
from sidecar.cli.exits import VerbError
from tests.sidecar.cli.conftest import Run
from tests.sidecar.cli.fake_daemon import FakeDaemon, send


def test_stop_returns_when_the_socket_is_gone(run: Run, daemon: FakeDaemon) -> None:
    """The daemon is asked once, and the verb ends only after it is gone."""
    closers: list[threading.Thread] = []

    def shut_down(handler: BaseHTTPRequestHandler) -> None:
        send(handler, 202, {"stopping": True})
        closers.append(threading.Thread(target=daemon.close))
        closers[0].start()

    daemon.routes["GET", "/v1/info"] = (200, {"pid": os.getpid()})
    daemon.routes["POST", "/v1/shutdown"] = shut_down
    result = run("stop")
    assert (result.exit_code, result.stderr) == (0, "stopped\n")
    closers[0].join(10)
    assert not daemon.path.exists()


def test_a_daemon_that_stays_is_told_after_the_deadline(daemon: FakeDaemon) -> None:
    """Waiting ends with a time-out, not with a lie."""
    with pytest.raises(VerbError) as caught:
        stop.wait_until_gone(daemon.path, os.getpid(), deadline_s=0.01)
    assert caught.value.exit_code == 4


def test_a_daemon_that_left_its_socket_behind_is_gone(daemon: FakeDaemon) -> None:
    """A process that was killed removes nothing; that it has ended is enough."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(30)
    stop.wait_until_gone(daemon.path, ended.pid, deadline_s=30)
