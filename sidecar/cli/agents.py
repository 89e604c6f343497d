"""`qmd-sidecar agents`: the agents that the daemon watches over, and the way to one's index by hand."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from sidecar.cli import columns
from sidecar.cli.exits import print_json, verb
from sidecar.cli.options import complete_agents, connect, shared_options
from sidecar.wording.terminal import one_line

_KEYS = ("id", "state", "backend", "workspace")


@click.group(invoke_without_command=True)
@shared_options
@verb
def agents(
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> None:
    """List the agents with their workspaces and engines."""
    if click.get_current_context().invoked_subcommand is not None:
        return
    known = connect(config, state_dir, socket, timeout_s=10).agents()
    if as_json:
        print_json({"agents": known})
        return
    rows = [tuple(one_line(str(agent.get(key) or "-")) for key in _KEYS) for agent in known]
    print("\n".join(columns.table([("AGENT", "STATE", "BACKEND", "WORKSPACE"), *rows])))


@agents.command()
@click.argument("agent", metavar="ID", shell_complete=complete_agents)
@shared_options
@verb
def env(
    agent: str,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> None:
    """Print the exports that let your own qmd use this agent's index.

    eval "$(qmd-sidecar agents env main)"; qmd status
    """
    ctx = click.get_current_context()
    client = connect(_told(ctx, "config"), _told(ctx, "state_dir"), _told(ctx, "socket"), timeout_s=10)
    variables = client.environment(agent)
    if _told(ctx, "as_json"):
        print_json({"environment": variables})
        return
    print("\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items()))


def _told(ctx: click.Context, option: str) -> Any:
    """An option's value; `agents --socket S env ID` means the same as `agents env ID --socket S`."""
    is_flag = ctx.get_parameter_source(option) is ParameterSource.COMMANDLINE
    return ctx.params[option] if is_flag or ctx.parent is None else ctx.parent.params[option]
