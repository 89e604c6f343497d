"""The command `qmd-sidecar`: one module per verb, loaded when it is asked for."""

from __future__ import annotations

import io
import os
import sys
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from sidecar import __version__
from sidecar.cli.exits import EPILOG, Exit, VerbError, report, say

#: The verbs, in the order of `--help`. Each is the name of its module and of the command in it.
VERBS = (
    *("run", "search", "get", "status", "agents", "sync", "embed", "export"),
    *("purge", "scope", "doctor", "reload", "service", "stop", "config", "logs"),
    *("metrics", "mcp", "openclaw", "qmd-shim", "completion", "version"),
)
_WANTS_JSON = "sidecar.wants_json"
#: Names that work and are not listed.
ALIASES = {"index": "sync"}


class _LazyGroup(click.Group):
    """Imports one verb at a time: `status` must not pay for `run`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in VERBS:
            return None
        module = name.replace("-", "_")
        command = getattr(import_module(f"sidecar.cli.{module}"), module)
        assert isinstance(command, click.Command)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_WANTS_JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            if not ctx.meta[_WANTS_JSON]:
                raise
            where = error.ctx.command_path if error.ctx else "qmd-sidecar"
            refused = VerbError(Exit.USAGE, "usage", error.format_message(), hint=f"{where} --help")
            raise click.exceptions.Exit(report(refused, as_json=True)) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            near = get_close_matches(args[0], VERBS, n=1)
            suggestion = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"No such verb {args[0]!r}.{suggestion}", ctx) from None


@click.group(
    cls=_LazyGroup,
    epilog=EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="qmd-sidecar", message="%(prog)s %(version)s")
@click.pass_context
def command(ctx: click.Context) -> None:
    """A local daemon that keeps an agent's Markdown memory searchable, with QMD and without it.

    Without a command it says how the daemon is, and what to do next.
    """
    if ctx.invoked_subcommand is None:
        from sidecar.cli.summary import summary

        # In a context of its own, which reads the environment for the options that nobody could give here.
        with summary.make_context("summary", [], parent=ctx) as alone:
            summary.invoke(alone)


def main() -> None:
    """Run the command line; ends the process with one of the documented exit codes."""
    if sys.stdout is None:
        # `>&-`: whoever prints would crash, and the first file that is opened would take its number.
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Memory may hold what the locale of a terminal cannot spell.
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            command(prog_name="qmd-sidecar")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # `qmd-sidecar search x | head`: the reader is gone.
        _give_up_stdout()
        sys.exit(1)
    except OSError as error:
        _give_up_stdout()
        say(f"error: {error.strerror or error}")
        sys.exit(1)


def _give_up_stdout() -> None:
    """Have nothing more written, not even at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
