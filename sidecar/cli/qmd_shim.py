"""`qmd-sidecar qmd-shim`: a `qmd` in front of the real one that the daemon answers."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from sidecar import places, shim
from sidecar.cli.exits import Exit, VerbError, print_json, say, verb
from sidecar.cli.options import shared_options
from sidecar.client.finding import sockets

_dir = click.option("--dir", "folder", type=click.Path(path_type=Path), metavar="DIR", help="The folder of the qmd.")


@click.group(name="qmd-shim")
def qmd_shim() -> None:
    """Put a qmd in front of the real one that the running daemon answers.

    For programs that spawn `qmd search`, `vsearch` or `query`. Everything else is handed over to the real qmd.
    """


@qmd_shim.command()
@_dir
@shared_options
@verb
def install(
    folder: Path | None, config: Path | None, state_dir: Path | None, socket: Path | None, as_json: bool
) -> None:
    """Write it into a folder of its own, and say what to put in front of PATH."""
    asked = [path.absolute() for path in sockets(os.environ, config=config, state_dir=state_dir, socket=socket)]
    with _failures_named():
        file = shim.install(_folder(folder, config, state_dir), sys.executable, asked)
    if as_json:
        print_json({"installed": str(file), "sockets": [str(path) for path in asked]})
        return
    say(f"installed {file}")
    print(f'export PATH={shlex.quote(str(file.parent))}:"$PATH"')


@qmd_shim.command()
@_dir
@shared_options
@verb
def uninstall(
    folder: Path | None, config: Path | None, state_dir: Path | None, socket: Path | None, as_json: bool
) -> None:
    """Remove it, and nothing else."""
    at = _folder(folder, config, state_dir)
    with _failures_named():
        removed = shim.uninstall(at)
    if as_json:
        print_json({"removed": removed, "path": str(at / "qmd")})
    else:
        say(f"removed {at / 'qmd'}" if removed else f"there is none in {at}")


@qmd_shim.command()
@_dir
@shared_options
@verb
def path(folder: Path | None, config: Path | None, state_dir: Path | None, socket: Path | None, as_json: bool) -> None:
    """Print the folder that is to stand in front of PATH."""
    at = _folder(folder, config, state_dir)
    print_json({"path": str(at)}) if as_json else print(at)


def _folder(named: Path | None, config: Path | None, state_dir: Path | None) -> Path:
    return (named or (state_dir or places.state_dir(os.environ, config=config)) / "bin").expanduser().absolute()


@contextmanager
def _failures_named() -> Iterator[None]:
    try:
        yield
    except shim.NotOursError as error:
        message = f"{error.args[0]} is another qmd"
        raise VerbError(Exit.FAILURE, "not_ours", message, hint="name another folder with --dir") from None
    except OSError as error:
        message = f"{error.filename or 'the folder'} cannot be written: {error.strerror}"
        raise VerbError(Exit.FAILURE, "unwritable", message, hint="name another folder with --dir") from None
