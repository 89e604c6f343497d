"""`qmd-sidecar agents`: the agents that the daemon watches over."""

from __future__ import annotations

from pathlib import Path

import click

from sidecar.cli.exits import print_json, verb
from sidecar.cli.options import connect, shared_options
from sidecar.cli.terminal import printable, table


@click.command()
@shared_options
@verb
def agents(
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> None:
    """List the agents with their workspaces and engines."""
    known = connect(config, state_dir, socket, timeout_s=10).agents()
    if as_json:
        print_json({"agents": known})
        return
    rows = [tuple(str(agent.get(key) or "-") for key in ("id", "state", "backend", "workspace")) for agent in known]
    for line in table([("AGENT", "STATE", "ENGINE", "WORKSPACE"), *rows]):
        print(printable(line))
