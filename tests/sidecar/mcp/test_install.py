"""What `qmd-sidecar mcp` says before any session: the settings of clients, and what is missing."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar.mcp.snippets import CLIENTS
from tests.sidecar.cli.conftest import Run

ODD = 'agent:main:"\\\n\x7fü'
PATHS: dict[str, tuple[str, ...]] = {
    "claude": ("mcpServers",),
    "codex": ("mcp_servers",),
    "cursor": ("mcpServers",),
    "vscode": ("servers",),
    "zed": ("context_servers",),
    "openclaw": ("mcp", "servers"),
    "generic": ("mcpServers",),
}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_snippet_starts_the_server_from_anywhere(run: Run, environ: dict[str, str], client: str) -> None:
    """With an absolute command, what was said of agent and key, and where the daemon is."""
    result = run("mcp", "install", "--client", client, "--agent", "main", "--session-key", ODD, "--config", "c.json5")
    read: Callable[[str], Any] = tomllib.loads if client == "codex" else json.loads
    server = read(result.stdout)
    for key in (*PATHS[client], "memory"):
        server = server[key]
    assert Path(server["command"]).is_file()
    config = str(Path("c.json5").absolute())
    assert server["args"] == ["mcp", "--agent", "main", "--session-key", ODD, "--config", config]
    assert server["env"] == {"XDG_RUNTIME_DIR": environ["XDG_RUNTIME_DIR"]}
    assert result.stderr == f"into {CLIENTS[client].place}:\n"


def test_for_programs_there_is_json(run: Run) -> None:
    """The parts beside the text."""
    told = json.loads(run("mcp", "install", "--client", "codex", "--start-daemon", "--json").stdout)
    assert (told["client"], told["args"]) == ("codex", ["mcp", "--start-daemon"])


def test_a_flag_that_would_be_lost_is_a_usage_error(run: Run) -> None:
    """`mcp --agent a install` is not `mcp install --agent a`."""
    result = run("mcp", "--agent", "a", "install")
    assert result.exit_code == 2
    assert "behind `install`" in result.stderr


def test_without_the_extra_it_says_how_to_install_it(environ: dict[str, str], folder: Path) -> None:
    """And nothing on standard output, where a client listens."""
    (folder / "mcp.py").write_text("raise ImportError('not here')", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "sidecar", "mcp"],
        env=environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "error: the extra `mcp` is not installed",
        "try: pipx inject qmd-sidecar 'mcp>=2,<3'",
    ]
