"""`qmd-sidecar status`: the daemon and its agents on one screen."""

from __future__ import annotations

import datetime as dt
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from sidecar.cli import embedding
from sidecar.cli.agent_facts import fact_lines
from sidecar.cli.exits import Exit, VerbError, print_json, verb
from sidecar.cli.options import complete_agents, connect, shared_options
from sidecar.cli.overview import agent_table
from sidecar.cli.redraw import Redrawn
from sidecar.client import ClientError
from sidecar.wording import problems, words
from sidecar.wording.problems import Problem, told
from sidecar.wording.terminal import Style, can_redraw, duration, printable, screen_width, size

#: Longer than the daemon waits for a provider: what it says of it is the answer.
DEEP_S = 30.0
WATCH_S = 1.0


@click.command()
@click.argument("agent", required=False, shell_complete=complete_agents)
@click.option(
    "--agent", "-a", "named", metavar="AGENT", shell_complete=complete_agents, help="The same as the argument."
)
@click.option("--deep", is_flag=True, help="Also have the embedding provider make one vector, and say how it went.")
@click.option("--watch", is_flag=True, help="Show it again every second, in place, until Ctrl-C.")
@shared_options
@verb
def status(
    agent: str | None,
    named: str | None,
    deep: bool,
    watch: bool,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> Exit:
    """Show how the daemon and its agents are.

    With AGENT: everything about this one, its engines and its folders.
    """
    agent = agent or named

    def ask() -> Mapping[str, Any]:
        return connect(config, state_dir, socket, timeout_s=DEEP_S if deep else 10).status(agent, deep=deep)

    if watch:
        _check_watchable(deep=deep, as_json=as_json)
        _watch(lambda: _screen(ask(), agent))
    reply = ask()
    if as_json:
        print_json(reply)
    else:
        print("\n".join(_screen(reply, agent)))
    agents = [reply] if agent is not None else reply.get("agents") or []
    return Exit.FAILURE if any(embedding.fails(each) for each in agents) else Exit.OK


def _check_watchable(*, deep: bool, as_json: bool) -> None:
    """Raises `VerbError` where there is nothing to draw on, or a provider would be paid for every drawing."""
    if deep or as_json:
        raise VerbError(Exit.USAGE, "not_watched", "--watch goes with neither --deep nor --json", hint="leave one out")
    if not can_redraw(sys.stdout, os.environ):
        message = "--watch draws on a terminal, and there is none that can"
        raise VerbError(Exit.USAGE, "no_terminal", message, hint="qmd-sidecar status")


def _watch(look: Callable[[], list[str]]) -> NoReturn:
    """Show what is seen again and again; a daemon that is away may come back."""
    screen = Redrawn(sys.stdout)
    while True:
        try:
            lines = look()
        except ClientError as error:
            lines = [error.message, *([f"try: {error.hint}"] if error.hint else [])]
        screen.draw(lines)
        time.sleep(WATCH_S)


def _screen(reply: Mapping[str, Any], agent: str | None) -> list[str]:
    now, style, width = dt.datetime.now(dt.UTC), Style.of(), screen_width(sys.stdout, os.environ)
    show = daemon_lines if agent is None else agent_lines
    return show(reply, now, style, width)


def daemon_lines(reply: Mapping[str, Any], now: dt.datetime, style: Style, width: int | None) -> list[str]:
    """The whole daemon: one row per agent, every problem with its remedy, then the daemon's own places."""
    return [
        head(reply, style),
        "",
        *agent_table(reply.get("agents") or [], now, style, width),
        *_progress_lines(reply.get("agents") or [], style),
        *embedding.lines(reply.get("agents") or [], style),
        *_problem_lines(problems.of_daemon(reply), now, style, width),
        "",
        *_places(reply, style),
    ]


def agent_lines(agent: Mapping[str, Any], now: dt.datetime, style: Style, width: int | None) -> list[str]:
    """One agent: its row, its problems, its facts."""
    return [
        *agent_table([agent], now, style, width),
        *_progress_lines([agent], style),
        *embedding.lines([agent], style),
        *_problem_lines(problems.of_agent(agent), now, style, width),
        "",
        *fact_lines(agent, now, style),
    ]


def head(reply: Mapping[str, Any], style: Style) -> str:
    """The daemon in one line: version, state, process."""
    parts = (
        f"pid {reply['pid']}" if reply.get("pid") else "",
        f"up {duration(float(reply.get('uptimeSeconds') or 0))}",
        size(reply["rssBytes"]) if reply.get("rssBytes") else "",
    )
    name = style.bold(printable(f"qmd-sidecar {reply.get('version') or ''}".rstrip()))
    state = str(reply.get("state"))
    painted = style.good(state) if state == "ready" else style.warn(state)
    return "  ".join([name, painted, *filter(None, parts)])


def _progress_lines(agents: Sequence[Mapping[str, Any]], style: Style) -> list[str]:
    """A line for each index that is being made: how far it is."""
    mark = style.busy(style.symbol("◐"))
    found = [
        f"{mark} {printable(': '.join((str(agent.get('id')), name)))} {far}"
        for agent in agents
        for name, facts in (agent.get("engines") or {}).items()
        if (far := words.progress(facts.get("progress")))
    ]
    return ["", *found] if found else []


def _problem_lines(found: Sequence[Problem], now: dt.datetime, style: Style, width: int | None) -> list[str]:
    lines = [line for problem in found for line in told(problem, now, style, width=width)]
    return ["", *lines] if lines else []


def _places(reply: Mapping[str, Any], style: Style) -> list[str]:
    places = {
        "worker": _worker(reply.get("worker") or {}),
        "socket": reply.get("socket"),
        "state": reply.get("stateDir"),
        "config": reply.get("config"),
    }
    return [f"{style.dim(label.ljust(6))}  {printable(str(place))}" for label, place in places.items() if place]


def _worker(worker: Mapping[str, Any]) -> str:
    if worker.get("state") == "stopped":
        return "stopped, starts when there is work"
    parts = (
        str(worker.get("state") or ""),
        f"pid {worker['pid']}" if worker.get("pid") else "",
        size(worker["rssBytes"]) if worker.get("rssBytes") else "",
    )
    return ", ".join(filter(None, parts))
