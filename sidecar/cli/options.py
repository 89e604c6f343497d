"""The options that every verb understands, and the way from them to the running daemon."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from sidecar.cli.exits import Exit, VerbError
from sidecar.client import Client, ClientError, find

#: A shell waits for completions while somebody types.
COMPLETION_S = 0.2

Function = TypeVar("Function", bound=Callable[..., Any])


class _HomePath(click.Path):
    """A path in which `~` is expanded: a value from a unit file has met no shell that would have done it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        return Path(os.fsdecode(super().convert(value, param, ctx))).expanduser()


def _place(flag: str, variable: str, metavar: str, help_text: str) -> Callable[[Function], Function]:
    """An option that names a path, on the command line or in the environment."""
    return click.option(flag, type=_HomePath(), envvar=variable, show_envvar=True, metavar=metavar, help=help_text)


_PLACES = (
    _place("--config", "SIDECAR_CONFIG", "FILE", "The configuration file."),
    _place("--state-dir", "SIDECAR_STATE_DIR", "DIR", "The folder of the daemon's state."),
    _place("--socket", "SIDECAR_SOCKET", "PATH", "The daemon's socket."),
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def place_options(function: Function) -> Function:
    """`--config`, `--state-dir` and `--socket`: where the daemon is."""
    for option in reversed(_PLACES):
        function = option(function)
    return function


def shared_options(function: Function) -> Function:
    """`--config`, `--state-dir`, `--socket` and `--json`, which every verb understands."""
    return place_options(_JSON(function))


def complete_agents(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The ids of the running daemon's agents that begin so; none where it is not there or takes its time."""
    places = (ctx.params.get(name) for name in ("config", "state_dir", "socket"))
    with contextlib.suppress(ClientError):
        known = [str(agent.get("id")) for agent in connect(*places, timeout_s=COMPLETION_S).agents()]
        return [agent for agent in known if agent.startswith(incomplete) and agent.isprintable()]
    return []


agent_option = click.option(
    "--agent",
    "-a",
    envvar="SIDECAR_AGENT",
    show_envvar=True,
    metavar="AGENT",
    shell_complete=complete_agents,
    help="The agent; may be left out when there is one.",
)


def several_agents(function: Callable[..., Any]) -> Callable[..., Any]:
    """`[AGENT]...`, given to the verb as `agents`; `--agent`, which other verbs take, means the same here."""

    @functools.wraps(function)
    def merged(agents: tuple[str, ...], more_agents: tuple[str, ...], **options: Any) -> Any:
        return function(agents=(*agents, *more_agents), **options)

    option = click.option(
        "--agent",
        "-a",
        "more_agents",
        metavar="AGENT",
        multiple=True,
        shell_complete=complete_agents,
        help="The same as an argument.",
    )
    argument = click.argument("agents", metavar="[AGENT]...", nargs=-1, shell_complete=complete_agents)
    return argument(option(merged))


def connect(config: Path | None, state_dir: Path | None, socket: Path | None, *, timeout_s: float = 60.0) -> Client:
    """A client of the running daemon. Raises `NotRunningError` when nobody listens at any of the possible sockets."""
    return Client(find(socket=socket, state_dir=state_dir, config=config), timeout_s=timeout_s)


def choose_agent(client: Client, named: str | None, *, session: str | None = None) -> str:
    """The agent that is meant: the named one, the session's, or the only one. A guess would search another's memory."""
    if named is not None:
        return named
    known = [str(agent.get("id")) for agent in client.agents()]
    meant = [agent for agent in known if session and session.startswith(f"agent:{agent}:")] or known
    if len(meant) == 1:
        return meant[0]
    raise VerbError(
        Exit.USAGE,
        "agent_required",
        f"there are {len(known)} agents: {', '.join(known)}",
        hint="name one with --agent, or with SIDECAR_AGENT",
    )
