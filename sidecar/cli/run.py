"""`qmd-sidecar run`: the daemon, in the foreground."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sidecar.cli.exits import Exit, VerbError, verb
from sidecar.cli.options import shared_options

if TYPE_CHECKING:
    from sidecar.config import Settings
    from sidecar.service.launch import Launch


@click.command()
@click.option("--tour", is_flag=True, help="Ask one question when ready; make sample notes if there are no notes.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"], case_sensitive=False),
    envvar="SIDECAR_LOG_LEVEL",
    show_envvar=True,
    help="How much to log.",
)
@shared_options
@verb
def run(
    tour: bool,
    log_level: str | None,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> int:
    """Start the daemon, in the foreground.

    It ends with Ctrl-C, SIGTERM or `qmd-sidecar stop`.
    """
    # Here, not above: only this verb pays for the schema, and a wrong file is told before the engines are loaded.
    from sidecar import config as configuration
    from sidecar.cli import tour as guided

    launch = _launch()
    socket = launch.path or socket
    # Of the start: what the daemon sets for its children later is no change of the configuration.
    environ = dict(os.environ)

    def load(*, state_dir: Path | None = state_dir, socket: Path | None = socket) -> Settings:
        settings = configuration.load(config, environ=environ, state_dir=state_dir, socket=socket)
        return guided.with_sample(settings) if tour else settings

    try:
        settings = load()
    except configuration.ConfigError as error:
        raise VerbError(Exit.CONFIGURATION, error.code, str(error), hint=_check(config)) from None

    # A search multiplies too little to share between threads: they would wait for each other, and for nothing.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

    from sidecar import daemon
    from sidecar.configured import Configured

    on_ready = guided.ask if tour else None
    return daemon.run(Configured(settings, load), launch=launch, log_level=log_level, on_ready=on_ready)


def _launch() -> Launch:
    """What a service manager handed over, taken before anything is started that could take it, too."""
    from sidecar.errors import StartupError
    from sidecar.service.launch import Launch

    try:
        return Launch.taken_from(os.environ, pid=os.getpid())
    except StartupError as error:
        raise VerbError(Exit(error.exit_code), error.code, error.message, hint=error.hint) from None


def _check(config: Path | None) -> str:
    """The command that looks at the same file."""
    return f"qmd-sidecar config check --config {shlex.quote(str(config))}" if config else "qmd-sidecar config check"
