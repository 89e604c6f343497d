"""`qmd-sidecar` alone: whether it runs, what is worst, and the one command to type next."""

from __future__ import annotations

import datetime as dt
import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from sidecar.cli.exits import Exit, verb
from sidecar.cli.options import connect, place_options
from sidecar.cli.status import head
from sidecar.client import NotRunningError
from sidecar.wording import problems, words
from sidecar.wording.problems import told
from sidecar.wording.terminal import Style, printable, screen_width

_LABEL_WIDTH = 8
_HELP = "qmd-sidecar --help"


@click.command()
@place_options
@verb
def summary(config: Path | None, state_dir: Path | None, socket: Path | None) -> Exit:
    """Say in a few lines how the daemon is and what to do next."""
    try:
        reply = connect(config, state_dir, socket, timeout_s=10).status()
    except NotRunningError as error:
        print("\n".join([error.message, "", *_labelled({"start": error.hint, "help": _HELP})]))
        return Exit.NOT_RUNNING
    print("\n".join(lines(reply, dt.datetime.now(dt.UTC), Style.of(), screen_width(sys.stdout, os.environ))))
    return Exit.OK


def lines(reply: Mapping[str, Any], now: dt.datetime, style: Style, width: int | None) -> Iterator[str]:
    """The daemon, its agents counted, the worst problem with its remedy, and what comes next."""
    agents = reply.get("agents") or []
    yield head(reply, style)
    yield ""
    yield from _labelled({"agents": _states(agents), "memory": _memory(agents)})
    if found := problems.of_daemon(reply):
        worst, *others = found
        yield ""
        yield from told(worst, now, style, width=width)
        if others:
            yield f"  {style.dim('and ' + words.counted(len(others), 'more problem'))}"
    yield ""
    yield from _labelled({"next": "qmd-sidecar status" if found else _question(agents), "help": _HELP})


def _states(agents: Sequence[Mapping[str, Any]]) -> str:
    if len(agents) == 1:
        return printable(f"{agents[0].get('id')}: {agents[0].get('state')}")
    counts = Counter(str(agent.get("state")) for agent in agents)
    return printable(", ".join(f"{number:,} {state}" for state, number in counts.most_common())) or "none"


def _memory(agents: Sequence[Mapping[str, Any]]) -> str:
    documents = sum(agent.get("documents") or 0 for agent in agents)
    pending = sum((agent.get("pending") or {}).get("files", 0) for agent in agents)
    return words.counted(documents, "document") + (
        f", {words.counted(pending, 'file')} not indexed yet" * bool(pending)
    )


def _question(agents: Sequence[Mapping[str, Any]]) -> str:
    """A search that works as it stands: with several agents one has to be named."""
    named = f"-a {shlex.quote(str(agents[0].get('id')))} " if len(agents) > 1 else ""
    return printable(f"qmd-sidecar search {named}'what did we decide?'")


def _labelled(rows: Mapping[str, str]) -> Iterator[str]:
    return (f"{label.ljust(_LABEL_WIDTH)}{row}" for label, row in rows.items())
