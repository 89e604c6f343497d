"""`qmd-sidecar version`: of the command, and of the daemon if one runs."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import click

from sidecar import __version__
from sidecar.cli.exits import print_json, verb
from sidecar.cli.options import connect, shared_options
from sidecar.client import ClientError


@click.command()
@shared_options
@verb
def version(
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> None:
    """Print the versions of command and daemon."""
    facts: dict[str, Any] = {
        "name": "qmd-sidecar",
        "version": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "daemon": _running(config, state_dir, socket),
    }
    if as_json:
        print_json(facts)
        return
    print(f"qmd-sidecar {__version__} (Python {facts['python']}, {facts['platform']})")
    if daemon := facts["daemon"]:
        print(f"daemon      {daemon['version']} (pid {daemon['pid']})")


def _running(config: Path | None, state_dir: Path | None, socket: Path | None) -> dict[str, Any] | None:
    """Version and pid of the running daemon; None without one, for a version is asked for when things are broken."""
    try:
        info = connect(config, state_dir, socket, timeout_s=2).info()
    except ClientError:
        return None
    return {"version": info.get("version"), "pid": info.get("pid")}
