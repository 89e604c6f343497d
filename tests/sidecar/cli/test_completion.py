"""`qmd-sidecar completion`, as real shells use it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.sidecar.cli.conftest import Run
from tests.sidecar.cli.fake_daemon import FakeDaemon

#: What bash does when somebody presses the tabulator behind these words.
TYPED = """
eval "$(qmd-sidecar completion bash)"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_qmd_sidecar_completion qmd-sidecar
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def shell(environ: dict[str, str], folder: Path) -> dict[str, str]:
    """The isolated environment, with the command on PATH."""
    command = folder / "bin" / "qmd-sidecar"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sidecar "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return environ | {"PATH": f"{command.parent}:{environ['PATH']}"}


def completed(environ: dict[str, str], *words: str) -> list[str]:
    """What bash offers for the last word."""
    command = ["bash", "--norc", "-c", TYPED, "bash", "qmd-sidecar", *words]
    done = subprocess.run(command, env=environ, capture_output=True, encoding="utf-8", timeout=60)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_bash_completes_verbs_options_and_agents(shell: dict[str, str], daemon: FakeDaemon) -> None:
    """The script that is printed works in a real bash."""
    daemon.routes["GET", "/v1/agents"] = (200, {"agents": [{"id": "main"}, {"id": "marketing"}, {"id": "ops"}]})
    assert completed(shell, "sea") == ["search"]
    assert completed(shell, "search", "--ma") == ["--max-results"]
    assert completed(shell, "search", "--agent", "ma") == ["main", "marketing"]


def test_arguments_that_are_agents_are_completed(run: Run, daemon: FakeDaemon) -> None:
    """Wherever one can stand."""
    for typed in ("status m", "sync m", "sync main m", "agents env m", "get x -a m", "export -a m"):
        words = {"COMP_WORDS": f"qmd-sidecar {typed}", "COMP_CWORD": str(len(typed.split()))}
        assert run(_QMD_SIDECAR_COMPLETE="bash_complete", **words).stdout == "plain,main\n", typed


def test_a_daemon_of_another_place_is_asked_where_it_is_named(
    run: Run, daemon: FakeDaemon, environ: dict[str, str], folder: Path
) -> None:
    """By the option that stands on the line already."""
    other = FakeDaemon(folder / "o.sock")
    other.routes["GET", "/v1/agents"] = (200, {"agents": [{"id": "else"}]})
    words = {"COMP_WORDS": f"qmd-sidecar status --socket {other.path} ''", "COMP_CWORD": "4"}
    assert run(_QMD_SIDECAR_COMPLETE="bash_complete", **words).stdout == "plain,else\n"
    other.close()


def test_without_a_daemon_nothing_is_offered(run: Run) -> None:
    """And nothing is said into the line that is being typed."""
    words = {"COMP_WORDS": "qmd-sidecar status m", "COMP_CWORD": "2"}
    result = run(_QMD_SIDECAR_COMPLETE="bash_complete", **words)
    assert result.output.strip() == ""


def test_a_daemon_that_does_not_answer_holds_nobody_up(run: Run, environ: dict[str, str]) -> None:
    """Whoever types does not wait for a status."""
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(f"{environ['XDG_RUNTIME_DIR']}/qmd-sidecar/sidecar.sock")
        silent.listen()
        began = time.monotonic()
        words = {"COMP_WORDS": "qmd-sidecar sync m", "COMP_CWORD": "2"}
        assert run(_QMD_SIDECAR_COMPLETE="bash_complete", **words).output.strip() == ""
        assert time.monotonic() - began < 10


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_every_script_is_read_by_its_shell(run: Run, name: str) -> None:
    """As far as that shell is here."""
    script = run("completion", name).stdout
    assert "_QMD_SIDECAR_COMPLETE" in script
    if (found := shutil.which(name)) is not None:
        assert subprocess.run([found, "-n"], input=script, encoding="utf-8", timeout=60).returncode == 0


def test_a_shell_that_is_not_known_is_a_usage_error(run: Run) -> None:
    """With those that are."""
    result = run("completion", "tcsh")
    assert result.exit_code == 2
    assert "'fish'" in result.stderr
