"""`qmd-sidecar agents` and `agents env`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.sidecar.cli.conftest import Run
from tests.sidecar.cli.fake_daemon import FakeDaemon, error

VARIABLES = {"XDG_CONFIG_HOME": "/state/an agent's/config", "XDG_CACHE_HOME": "/cache", "QMD_CONFIG_DIR": "$HOME/`x`"}


def test_agents_lists_id_state_engine_and_workspace(run: Run, daemon: FakeDaemon) -> None:
    """One line per agent."""
    assert run("agents").stdout.splitlines()[1].split() == ["main", "ready", "qmd", "/w"]


def test_agents_json_is_the_reply_itself(run: Run, daemon: FakeDaemon) -> None:
    """Ids are whole there."""
    assert json.loads(run("agents", "--json").stdout)["agents"][0]["id"] == "main"


def test_env_prints_exports_that_a_shell_takes_as_they_are(run: Run, daemon: FakeDaemon) -> None:
    """Blanks, quotes, dollars and backquotes arrive untouched in the environment of a person's own qmd."""
    daemon.routes["GET", "/v1/agents/main/env"] = (200, {"environment": VARIABLES})
    printed = run("agents", "env", "main").stdout
    assert [line.split("=")[0] for line in printed.splitlines()] == [f"export {name}" for name in VARIABLES]
    script = printed + "".join(f'printf "%s\\n" "${name}"\n' for name in VARIABLES)
    shell = subprocess.run(["/bin/sh", "-c", script], env={}, capture_output=True, encoding="utf-8", timeout=30)
    assert shell.stdout.splitlines() == list(VARIABLES.values())


@pytest.mark.parametrize("args", [["agents", "--json", "env", "main"], ["agents", "env", "main", "--json"]])
def test_options_count_before_and_behind_the_subcommand(run: Run, daemon: FakeDaemon, args: list[str]) -> None:
    """An option that is silently ignored is a trap."""
    daemon.routes["GET", "/v1/agents/main/env"] = (200, {"environment": VARIABLES})
    assert json.loads(run(*args).stdout) == {"environment": VARIABLES}


def test_a_flag_before_the_subcommand_wins_over_the_environment(run: Run, daemon: FakeDaemon, folder: Path) -> None:
    """`--socket` names the daemon that is meant, whatever SIDECAR_SOCKET says."""
    daemon.routes["GET", "/v1/agents/main/env"] = (200, {"environment": VARIABLES})
    elsewhere = str(folder / "nobody.sock")
    result = run("agents", "--socket", str(daemon.path), "env", "main", SIDECAR_SOCKET=elsewhere)
    assert result.exit_code == 0
    assert run("agents", "env", "main", "--socket", elsewhere).exit_code == 3


def test_env_of_an_agent_without_qmd_is_a_clear_error(run: Run, daemon: FakeDaemon) -> None:
    """Nothing stands on standard output that a shell could evaluate."""
    refused = error("no_qmd", "this agent is searched without qmd", 'set memory.backend to "auto"')
    daemon.routes["GET", "/v1/agents/main/env"] = (404, refused)
    result = run("agents", "env", "main")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "searched without qmd" in result.stderr
    assert "try: set memory.backend" in result.stderr
