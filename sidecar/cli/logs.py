"""`qmd-sidecar logs`: the daemon's log, wherever that daemon wrote it."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import click

from sidecar import places
from sidecar.cli.exits import Exit, VerbError, verb
from sidecar.cli.options import shared_options
from sidecar.client.finding import read_pointer
from sidecar.durations import seconds
from sidecar.logs.entry import Entry
from sidecar.logs.entry import as_json as to_json
from sidecar.logs.journal import Journal
from sidecar.logs.places import LOG_FOLDER, Where, remembered
from sidecar.logs.reading import LEVELS, Log, LogFiles, Wanted
from sidecar.logs.rendering import pretty
from sidecar.wording.terminal import Style


def _moment(_: click.Context, __: click.Parameter, value: str | None) -> datetime | None:
    """A time, or how long ago."""
    if value is None:
        return None
    now = datetime.now().astimezone()
    with contextlib.suppress(ValueError, OverflowError):
        return now - timedelta(seconds=seconds(value))
    with contextlib.suppress(ValueError, OverflowError):
        return datetime.fromisoformat(value).astimezone()
    raise click.BadParameter(f"{value!r} is neither like 1h or 2d nor like {now:%Y-%m-%d} or '{now:%Y-%m-%d %H:%M}'")


@click.command()
@click.option("--follow", "-f", is_flag=True, help="Go on with what is written from now on, until Ctrl-C.")
@click.option("--lines", "-n", type=click.IntRange(min=0), default=200, show_default=True, help="How many lines.")
@click.option("--since", callback=_moment, metavar="TIME", help="Only what is younger: 1h, 2d, or a date and time.")
@click.option("--level", type=click.Choice(LEVELS[:4], case_sensitive=False), default="debug", help="This and graver.")
@click.option("--agent", "-a", metavar="AGENT", help="Only what is about one agent.")
@shared_options
@verb
def logs(
    follow: bool,
    lines: int,
    since: datetime | None,
    level: str,
    agent: str | None,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> None:
    """Show the log of the daemon that runs, or of the last one that ran.

    With --json there is one JSON object a line.
    """
    wanted = Wanted(level=level, since=since, agent=agent)
    with contextlib.closing(_log(config, state_dir, socket)) as source:
        for entry in _entries(source, wanted, lines, follow=follow):
            _show(entry, as_json=as_json, at_once=follow)


def _entries(source: Log, wanted: Wanted, most: int, *, follow: bool) -> Iterator[Entry]:
    try:
        latest = source.latest(wanted, most)
        later = filter(wanted.takes, source.follow()) if follow else ()
        yield from itertools.chain(latest, later)
    except PermissionError as error:
        raise VerbError(Exit.DENIED, "log_denied", f"{error.filename} belongs to somebody else", hint="sudo") from None
    except FileNotFoundError as error:
        raise _nothing(f"there is no {error.filename or error}") from None


def _show(entry: Entry, *, as_json: bool, at_once: bool) -> None:
    print(to_json(entry) if as_json else pretty(entry, Style.of()), flush=at_once)


def _log(config: Path | None, state_dir: Path | None, socket: Path | None) -> Log:
    folders = list(_state_dirs(config, state_dir, socket))
    where = next(filter(None, map(remembered, folders)), None)
    if where is None:
        looked = ", ".join(str(folder / LOG_FOLDER) for folder in folders)
        raise _nothing(f"no daemon has logged in {looked}")
    return _opened(where)


def _opened(where: Where) -> Log:
    if where.file is not None:
        return LogFiles(Path(where.file))
    if where.stream == "journal":
        return Journal(where)
    raise VerbError(
        Exit.FAILURE,
        "log_on_terminal",
        "the daemon logs to the terminal in which it was started, and nowhere else",
        hint="look there, or name a file in sidecar.log.file",
    )


def _state_dirs(config: Path | None, state_dir: Path | None, socket: Path | None) -> Iterator[Path]:
    """Where a daemon may have its state, best first: the named folder, that of the running daemon, the usual one."""
    if state_dir is not None:
        yield state_dir
        return
    usual = places.state_dir(os.environ, config=config)
    meeting = [places.meeting_dir(os.environ), *places.run_dirs(os.environ, usual)]
    running = [
        found for folder in meeting if places.is_ours(folder) and (found := read_pointer(folder / places.POINTER))
    ]
    yield from dict.fromkeys([*(state for at, state in running if socket in (None, at)), usual])


def _nothing(message: str) -> VerbError:
    return VerbError(Exit.FAILURE, "no_log", message, hint="name the daemon's folder with --state-dir")
