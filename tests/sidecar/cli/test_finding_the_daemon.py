"""How client verbs find the socket, and what they say when nobody listens."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.client.finding import read_pointer, sockets
from tests.running import REPOSITORY
from tests.sidecar.cli.conftest import Run
from tests.sidecar.cli.fake_daemon import FakeDaemon


def point(folder: Path, at: Path, state: Path) -> None:
    """Write the pointer file of a running daemon."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = {"pid": 1, "socket": str(at), "stateDir": str(state), "version": "0.1.0", "startedAt": 0}
    (folder / "daemon.json").write_text(json.dumps(facts))


@pytest.fixture
def elsewhere(folder: Path, environ: dict[str, str]) -> Iterator[FakeDaemon]:
    """A daemon whose socket is at a place that only its configuration knows."""
    fake = FakeDaemon(folder / "odd.sock")
    fake.routes["GET", "/v1/agents"] = (200, {"agents": [{"id": "odd"}]})
    yield fake
    fake.close()


def test_not_running_is_a_first_class_answer(run: Run, environ: dict[str, str]) -> None:
    """The place where it was looked for, the way to start it, and exit code 3."""
    result = run("status")
    expected = f"{environ['XDG_RUNTIME_DIR']}/qmd-sidecar/sidecar.sock"
    assert result.exit_code == 3
    assert result.stderr == f"qmd-sidecar is not running (no socket at {expected}).\ntry: qmd-sidecar run\n"


@pytest.mark.parametrize("verb", [["status"], ["search", "x"], ["get", "x.md"], ["agents"], ["sync"], ["stop"]])
def test_not_running_in_json(run: Run, verb: list[str]) -> None:
    """Programs need not read a sentence."""
    result = run(*verb, "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["running"] is False


def test_a_flag_names_the_socket(run: Run, elsewhere: FakeDaemon) -> None:
    """--socket wins over everything."""
    assert "odd" in run("agents", "--socket", str(elsewhere.path), SIDECAR_SOCKET="/nowhere").stdout


def test_the_environment_names_the_socket(run: Run, elsewhere: FakeDaemon) -> None:
    """SIDECAR_SOCKET does what the flag does."""
    assert "odd" in run("agents", SIDECAR_SOCKET=str(elsewhere.path)).stdout


def test_a_named_socket_is_the_only_one(run: Run, daemon: FakeDaemon, folder: Path) -> None:
    """Nobody is answered by another daemon than the one that was named."""
    assert run("agents", "--socket", str(folder / "none.sock")).exit_code == 3


def test_the_pointer_file_leads_to_an_odd_place(
    run: Run, elsewhere: FakeDaemon, environ: dict[str, str], folder: Path
) -> None:
    """A socket that the configuration moved is found without reading the configuration."""
    point(Path(environ["XDG_RUNTIME_DIR"]) / "qmd-sidecar", elsewhere.path, folder / "state")
    assert "odd" in run("agents").stdout


def test_a_dead_socket_at_the_default_place_is_passed_over(
    run: Run, elsewhere: FakeDaemon, environ: dict[str, str], folder: Path
) -> None:
    """What a killed daemon left behind does not hide the living one."""
    runtime = Path(environ["XDG_RUNTIME_DIR"]) / "qmd-sidecar"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(runtime / "sidecar.sock"))
    point(runtime, elsewhere.path, folder / "state")
    assert "odd" in run("agents").stdout


def test_a_dead_socket_alone_is_not_running(run: Run, environ: dict[str, str]) -> None:
    """A socket file without a listener is told as such."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(f"{environ['XDG_RUNTIME_DIR']}/qmd-sidecar/sidecar.sock")
    assert run("agents").exit_code == 3


def test_a_named_state_folder_means_its_own_daemon(run: Run, daemon: FakeDaemon, folder: Path) -> None:
    """`stop --state-dir A` does not stop the daemon of B."""
    point(daemon.path.parent, daemon.path, folder / "b")
    assert run("agents", "--state-dir", str(folder / "a")).exit_code == 3
    assert run("agents", "--state-dir", str(folder / "b")).exit_code == 0


def test_without_a_runtime_folder_the_socket_is_in_the_state_folder(folder: Path) -> None:
    """As on macOS, where XDG_RUNTIME_DIR does not exist."""
    state = folder / ".local" / "state" / "qmd-sidecar"
    assert sockets({"HOME": str(folder), "TMPDIR": str(folder)}, config=None, state_dir=None, socket=None) == [
        state / "run" / "sidecar.sock"
    ]


def test_the_state_folder_is_beside_an_openclaw_configuration(folder: Path) -> None:
    """With OpenClaw's file as the configuration, our state stays in a folder of our own beside it."""
    (folder / ".openclaw").mkdir()
    (folder / ".openclaw" / "openclaw.json").write_text("{}")
    found = sockets({"HOME": str(folder), "TMPDIR": str(folder)}, config=None, state_dir=None, socket=None)
    assert found == [folder / ".openclaw" / "qmd-sidecar" / "run" / "sidecar.sock"]


@pytest.mark.parametrize("content", ["", "[]", '{"socket": 3, "stateDir": "x"}', '{"socket": "x"}', "{"])
def test_a_broken_pointer_is_no_pointer(folder: Path, content: str) -> None:
    """Half-written or strange files are passed over."""
    (folder / "daemon.json").write_text(content)
    assert read_pointer(folder / "daemon.json") is None


def test_a_socket_path_that_is_too_long_is_not_running(run: Run, folder: Path) -> None:
    """The system's limit for socket paths ends in a sentence."""
    assert run("agents", "--socket", str(folder / ("x" * 200))).exit_code == 3


def test_a_user_without_an_account_is_told_to_set_home() -> None:
    """As in many containers. One line of what and one of what next, and no traceback."""
    unshare = shutil.which("unshare")
    as_nobody = [str(unshare), "--map-user=54321"]
    if unshare is None or subprocess.run([*as_nobody, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody be another user")
    command = [*as_nobody, sys.executable, "-m", "sidecar", "status"]
    told = subprocess.run(command, env={}, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert told.returncode == 78
    assert told.stderr == (
        "error: HOME is not set, and user 54321 has no account with a home folder\n"
        "try: set HOME to a folder of this user\n"
    )
