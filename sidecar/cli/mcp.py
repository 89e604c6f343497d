"""`qmd-sidecar mcp`: the memory as tools of an MCP client."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from sidecar import places
from sidecar.cli.exits import Exit, VerbError, print_json, say, verb
from sidecar.cli.options import Function, agent_option, connect, shared_options
from sidecar.mcp.snippets import CLIENTS, Launch

#: Below the minute after which most clients give up, so that they get our error.
DEADLINE_S = 50.0
#: Where the daemon and its configuration are, as far as the environment says; clients pass few variables on.
_PLACES = ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "OPENCLAW_CONFIG_PATH", "OPENCLAW_STATE_DIR")


def _server_options(function: Function) -> Function:
    """What both starting the server and writing down how to start it take."""
    for option in (
        shared_options,
        click.option("--start-daemon", is_flag=True, help="Start the daemon when it does not run."),
        click.option("--session-key", metavar="KEY", help="Ask as this session: its scope applies."),
        agent_option,
    ):
        function = option(function)
    return function


@click.group(invoke_without_command=True)
@_server_options
@verb
def mcp(
    agent: str | None,
    session_key: str | None,
    start_daemon: bool,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> None:
    """Serve memory_search, memory_get and memory_status to an MCP client, on standard input and output.

    Without --session-key the operator asks, whom no scope keeps out. `mcp install` shows what to tell the client.
    """
    context = click.get_current_context()
    if context.invoked_subcommand:
        _refuse_misplaced(context)
        return
    try:
        from sidecar.mcp import server
    except ImportError:
        raise VerbError(
            Exit.FAILURE, "no_mcp", "the extra `mcp` is not installed", hint="pipx inject qmd-sidecar 'mcp>=2,<3'"
        ) from None
    from sidecar.mcp.asking import Asker
    from sidecar.mcp.starting import Starting

    way = functools.partial(connect, config, state_dir, socket, timeout_s=DEADLINE_S)
    if start_daemon:
        command = [sys.executable, "-m", "sidecar", "run", "--log-level", "warning"]
        command += _placed(config, state_dir, socket)
        folder = (state_dir or places.state_dir(os.environ, config=config)) / "log"
        server.run(Asker(Starting(way, command, folder), agent, session_key))
    else:
        server.run(Asker(way, agent, session_key))


def _refuse_misplaced(context: click.Context) -> None:
    """A flag before `install` would be lost."""
    given = click.core.ParameterSource.COMMANDLINE
    if any(context.get_parameter_source(name) is given for name in context.params):
        raise click.UsageError("Options go behind `install`.", context)


@mcp.command()
@click.option("--client", type=click.Choice([*CLIENTS]), default="generic", show_default=True, help="Who starts it.")
@_server_options
@verb
def install(
    client: str,
    agent: str | None,
    session_key: str | None,
    start_daemon: bool,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> None:
    """Print what to write into the settings of an MCP client. Nothing is written."""
    flags = {"--agent": agent, "--session-key": session_key}
    args = [
        *("mcp", *(word for flag, value in flags.items() if value for word in (flag, value))),
        *(["--start-daemon"] if start_daemon else []),
        *_placed(config, state_dir, socket),
    ]
    command, *first = _command()
    launch = Launch(command, [*first, *args], _missed(os.environ))
    chosen = CLIENTS[client]
    if as_json:
        print_json({"client": client, "place": chosen.place, "snippet": chosen.snippet(launch), **launch.as_json()})
        return
    say(f"into {chosen.place}:")
    print(chosen.snippet(launch))


def _placed(config: Path | None, state_dir: Path | None, socket: Path | None) -> Iterator[str]:
    """The flags for the places that were named, wherever they are read."""
    named = {"--config": config, "--state-dir": state_dir, "--socket": socket}
    for flag, path in named.items():
        if path is not None:
            yield from (flag, str(path.absolute()))


def _command() -> list[str]:
    """The command that runs here, from whatever folder and PATH it is started."""
    ours = Path(sys.executable).with_name("qmd-sidecar")
    return [str(ours)] if ours.exists() else [sys.executable, "-m", "sidecar"]


def _missed(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables without which the server would look for the daemon somewhere else."""
    return {name: environ[name] for name in _PLACES if environ.get(name)}
