"""Start and stop: one daemon a state folder, an orderly end, and nothing left behind however it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.running import processes_of, running, until


def config(folder: Path, **memory: Any) -> dict[str, Any]:
    """One agent with one note."""
    (folder / "workspace" / "memory").mkdir(parents=True, exist_ok=True)
    (folder / "workspace" / "memory" / "a.md").write_text("The boat leaves at nine.\n", encoding="utf-8")
    return {"memory": memory, "agents": {"defaults": {"workspace": str(folder / "workspace")}}}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_daemon_in_order(tmp_path: Path, number: int) -> None:
    """Exit code 0, no socket, no pointer, no process."""
    with running(tmp_path, config(tmp_path, backend="builtin")) as daemon:
        daemon.sync("main")
        assert daemon.stop(number) == 0
        assert not daemon.client.path.exists()
        assert not [*daemon.client.path.parent.rglob("daemon.json"), *daemon.state.rglob("daemon.json")]


def test_a_shutdown_request_stops_the_daemon(tmp_path: Path) -> None:
    """What `qmd-sidecar stop` sends, and then waits for the end of the socket: the next daemon may start at once."""
    with running(tmp_path, config(tmp_path, backend="builtin")) as daemon:
        daemon.sync("main")
        pointer = daemon.state / "run" / "daemon.json"
        pointer.write_text("[]", encoding="utf-8")
        assert daemon.call("POST", "/v1/shutdown") == {"stopping": True}
        until(lambda: not daemon.client.path.exists(), what="the end of the socket")
        assert psutil.Process(daemon.process.pid).children() == []
        assert daemon.process.wait(20) == 0


def test_a_second_daemon_on_the_same_state_is_refused(tmp_path: Path) -> None:
    """And the first one goes on."""
    with running(tmp_path, config(tmp_path, backend="builtin")) as daemon:
        command = [sys.executable, "-m", "sidecar", "run", "--config", str(tmp_path / "config.json5")]
        second = subprocess.run(
            [*command, "--state-dir", str(daemon.state), "--socket", str(daemon.client.path)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert second.returncode == 1
        assert "another daemon owns" in second.stderr
        assert daemon.ready()


def test_the_pointer_names_the_running_daemon(tmp_path: Path) -> None:
    """How clients find a socket that is not at its default place."""
    with running(tmp_path, config(tmp_path, backend="builtin")) as daemon:
        for folder in (daemon.client.path.parent / "qmd-sidecar", daemon.state / "run"):
            pointer = json.loads((folder / "daemon.json").read_text(encoding="utf-8"))
            assert (pointer["pid"], pointer["socket"]) == (daemon.process.pid, str(daemon.client.path))


def test_a_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    """The search meanwhile is answered by keywords."""
    with running(tmp_path, config(tmp_path, backend="builtin")) as daemon:
        daemon.sync("main")
        worker = daemon.call("GET", "/v1/status")["worker"]["pid"]
        next(process for process in processes_of(str(tmp_path)) if process.pid == worker).kill()
        assert daemon.search("main", "when does the boat leave?")["outcome"] in {"hits", "partial"}
        until(lambda: daemon.sync("main")["reports"], what="a new worker")


def test_the_second_signal_ends_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    """No socket, no pointer, no process, whatever was under way."""
    for number in range(2000):
        note = tmp_path / "workspace" / "memory" / f"{number}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text("long note about boats\n" * 200, encoding="utf-8")
    with running(tmp_path, config(tmp_path, backend="builtin")) as daemon:
        daemon.call("POST", "/v1/agents/main/sync", {"force": True})
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.send_signal(signal.SIGTERM)
        assert daemon.process.wait(20) in {0, 128 + signal.SIGTERM}
        assert not daemon.client.path.exists()
        assert not [*daemon.client.path.parent.rglob("daemon.json"), *daemon.state.rglob("daemon.json")]


def test_a_workspace_that_does_not_exist_is_said_and_not_hidden_in_an_empty_list(tmp_path: Path) -> None:
    """A typing error looks like amnesia."""
    wanted = {"memory": {"backend": "builtin"}, "agents": {"defaults": {"workspace": str(tmp_path / "wrok")}}}
    with running(tmp_path, wanted) as daemon:
        reply = daemon.search("main", "boat")
        assert [notice["code"] for notice in reply["notices"]] == ["workspace_missing"]
        status = daemon.call("GET", "/v1/agents/main/status")
        assert "workspace_missing" in {notice["code"] for notice in status["notices"]}


@pytest.mark.parametrize(
    ("sidecar", "flags"),
    [
        ({"log": {"file": "/no/such/folder/x.log"}}, []),
        ({"socket": {"group": "no-such-group"}}, []),
        ({}, ["--socket", "/etc/hostname/x.sock"]),
        ({}, ["--state-dir", "/etc/hostname/x"]),
    ],
)
def test_a_start_that_cannot_work_says_why_in_two_lines(
    tmp_path: Path, sidecar: dict[str, Any], flags: list[str]
) -> None:
    """An error and a next step, no traceback, and no socket left behind."""
    file = tmp_path / "config.json5"
    file.write_text(json.dumps({**config(tmp_path, backend="builtin"), "sidecar": sidecar}), encoding="utf-8")
    command = [sys.executable, "-m", "sidecar", "run", "--config", str(file), "--state-dir", str(tmp_path / "s")]
    socket = tmp_path / "s.sock"
    ended = subprocess.run(
        [*command, "--socket", str(socket), *flags], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode in {1, 78}
    error, hint = ended.stderr.strip().splitlines()
    assert (error.split(":")[0], hint.split(":")[0]) == ("error", "try")
    assert not socket.exists()
