"""`qmd-sidecar get`: read lines of a memory file."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from sidecar.cli.exits import Exit, VerbError, print_json, say, verb
from sidecar.cli.options import agent_option, choose_agent, connect, shared_options
from sidecar.client.asked import Get
from sidecar.wording import words
from sidecar.wording.terminal import printable

_PLACE = re.compile(r"(?P<path>.+?)(?::(?P<first>\d+)(?:(?P<joint>[:-])(?P<second>\d+))?)?", re.DOTALL)

#: What stands behind the name of a note and is no line number.
_AFTER_NOTE = re.compile(r"\.md:", re.IGNORECASE)


@click.command()
@click.argument("place", metavar="PATH[:LINE[:COUNT]]")
@agent_option
@click.option("--column", type=click.IntRange(1), help="Begin at this character of LINE, which is very long.")
@click.option("--session", metavar="KEY", help="Read as this session would: its scope applies.")
@shared_options
@verb
def get(
    place: str,
    agent: str | None,
    column: int | None,
    session: str | None,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> Exit:
    """Print lines of a memory file.

    PATH is what search shows; PATH:FIRST-LAST works as well.
    """
    path, first, count = parse_place(place)
    client = connect(config, state_dir, socket)
    chosen = choose_agent(client, agent, session=session)
    key = session or f"agent:{chosen}:cli:direct:get"
    # `from` is a keyword of Python, hence the mapping.
    asked: Get = {"path": path, "from": first, "lines": count, "column": column, "sessionKey": key}
    reply = client.get(chosen, **asked)
    if as_json:
        print_json(reply)
    else:
        show(reply, f"qmd-sidecar get -a {shlex.quote(agent)}" if agent else "qmd-sidecar get")
    return reading_exit(reply)


def parse_place(place: str) -> tuple[str, int | None, int | None]:
    """Split `PATH`, `PATH:LINE`, `PATH:LINE:COUNT` or `PATH:FIRST-LAST` into path, first line and number of lines."""
    match = _PLACE.fullmatch(place)
    if match is None or _AFTER_NOTE.search(match["path"]):
        raise VerbError(Exit.USAGE, "bad_place", "that is no place in a file", hint="qmd-sidecar get MEMORY.md:1:20")
    first, second = (int(match[name]) if match[name] else None for name in ("first", "second"))
    if first is None or second is None:
        return match["path"], first, None
    count = second if match["joint"] == ":" else second - first + 1
    if first < 1 or count < 1:
        raise VerbError(Exit.USAGE, "bad_place", "lines are counted from 1", hint="PATH:LINE:COUNT or PATH:FIRST-LAST")
    return match["path"], first, count


def reading_exit(reply: Mapping[str, Any]) -> Exit:
    """The exit code of a reading; a file that is not there is a failure here, as it is for `cat`."""
    if reply.get("denied"):
        return Exit.DENIED
    if reply.get("disabled"):
        return Exit.UNAVAILABLE
    return Exit.OK if reply.get("lines") or reply.get("media") else Exit.FAILURE


def show(reply: Mapping[str, Any], command: str) -> None:
    """Print the lines as they are; on a terminal, without what it would obey. Why there are none goes to talk."""
    if reply.get("lines"):
        text = str(reply.get("text"))
        sys.stdout.write(f"{printable(text) if sys.stdout.isatty() else text}\n")
        sys.stdout.flush()
        if reply.get("nextColumn"):
            following = f"{reply.get('path')}:{reply.get('from')}"
            say(f"the line goes on: {command} --column {reply['nextColumn']} {shlex.quote(following)}")
        if reply.get("nextFrom"):
            following = f"{reply.get('path')}:{reply['nextFrom']}"
            say(f"more: {command} {shlex.quote(following)}")
        return
    say(why_empty(reply))


def why_empty(reply: Mapping[str, Any]) -> str:
    """A sentence for a reading that brought no lines."""
    if reply.get("denied"):
        return f"Denied by scope: {words.denial(reply['denied'])}."
    if reply.get("disabled"):
        return str(reply.get("error") or "Memory is turned off in the configuration.")
    if reply.get("media"):
        return "This is not text; the file itself is the memory."
    path = printable(str(reply.get("path", "that path")))
    if "lines" in reply:
        return f"{path} has no line {reply.get('from')}"
    return f"{path} does not exist\ntry: qmd-sidecar search, which shows the paths that there are"
