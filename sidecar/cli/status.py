"""`qmd-sidecar status`: the daemon and its agents on one screen."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from sidecar.cli import words
from sidecar.cli.exits import print_json, verb
from sidecar.cli.options import connect, shared_options
from sidecar.cli.terminal import Style, ago, duration, printable, size, table

#: A float above this is a moment in Unix seconds, not a count.
_EARLIEST_TIME = 1e9
_HEADING = ("AGENT", "STATE", "ENGINE", "DOCS", "PENDING", "LAST UPDATE", "NEXT")


@click.command()
@click.argument("agent", required=False)
@shared_options
@verb
def status(
    agent: str | None,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> None:
    """Show how the daemon and its agents are.

    With AGENT: only this one, with its folders and engines.
    """
    reply = connect(config, state_dir, socket, timeout_s=10).status(agent)
    if as_json:
        print_json(reply)
        return
    now, style = dt.datetime.now(dt.UTC), Style.of()
    lines = daemon_lines(reply, now, style) if agent is None else agent_lines(reply, now, style)
    print("\n".join(lines))


def daemon_lines(reply: Mapping[str, Any], now: dt.datetime, style: Style) -> list[str]:
    """The whole daemon: one line of its own, one per agent, then every problem with its remedy."""
    agents = reply.get("agents") or []
    head = f"qmd-sidecar {reply.get('version')}  {reply.get('state')}  pid {reply.get('pid')}"
    lines = [
        f"{style.bold(head)}  up {duration(float(reply.get('uptimeSeconds') or 0))}",
        f"socket  {reply.get('socket')}",
        f"worker  {_worker(reply.get('worker') or {})}",
        "",
        *agent_table(agents, now, style),
    ]
    problems = [problem for agent in agents for problem in agent_problems(agent, now, style)]
    problems += [_notice(notice, style) for notice in reply.get("notices") or []]
    return [*lines, "", *problems] if problems else lines


def agent_table(agents: Sequence[Mapping[str, Any]], now: dt.datetime, style: Style) -> list[str]:
    """One line per agent, below a heading."""
    if not agents:
        return ["no agents"]
    heading, *rows = table([_HEADING, *(_row(agent, now) for agent in agents)])
    colours = {"ready": style.good, "indexing": style.busy, "degraded": style.warn, "disabled": style.dim}
    painted = [
        row.replace(state, colours.get(state, style.warn)(state), 1) if (state := str(agent.get("state"))) else row
        for agent, row in zip(agents, rows, strict=True)
    ]
    return [style.dim(heading), *painted]


def _row(agent: Mapping[str, Any], now: dt.datetime) -> tuple[str, ...]:
    pending = agent.get("pending") or {}
    return (
        printable(str(agent.get("id"))),
        str(agent.get("state")),
        str(agent.get("backend") or "-"),
        "-" if agent.get("documents") is None else str(agent["documents"]),
        str(pending.get("files") or 0),
        ago((agent.get("lastSync") or {}).get("at"), now=now),
        ago(agent.get("nextUpdateAt"), now=now),
    )


def agent_problems(agent: Mapping[str, Any], now: dt.datetime, style: Style) -> list[str]:
    """Why an agent is not at its best, and what to do about it."""
    problems = [_notice(notice, style, of=str(agent.get("id"))) for notice in agent.get("notices") or []]
    if fallen := agent.get("fallback"):
        since = ago(fallen.get("since"), now=now)
        text = f"{agent.get('id')}: {agent.get('backend')} answers {words.fallback(fallen)} (since {since})"
        problems.insert(0, style.warn(printable(text)))
    return problems


def agent_lines(agent: Mapping[str, Any], now: dt.datetime, style: Style) -> list[str]:
    """One agent with its folders and engines."""
    lines = [*agent_table([agent], now, style), "", f"workspace  {printable(str(agent.get('workspace')))}"]
    if last := agent.get("lastSync"):
        lines.append(f"last sync  {last_sync(last, now)}")
    roots = [
        (str(root.get("name")), str(root.get("kind")), f"{root.get('path')}/{root.get('pattern')}")
        for root in agent.get("roots") or []
    ]
    if roots:
        lines += ["", *map(printable, table([("ROOT", "KIND", "FILES"), *roots]))]
    lines += ["", *(engine_line(name, facts, now) for name, facts in (agent.get("engines") or {}).items())]
    problems = agent_problems(agent, now, style)
    return [*lines, "", *problems] if problems else lines


def engine_line(name: str, facts: Mapping[str, Any], now: dt.datetime) -> str:
    """What an engine says of itself, as far as it fits on a line; `--json` has all of it."""
    told = [f"{key} {_fact(key, value, now)}" for key, value in facts.items() if isinstance(value, int | float | str)]
    return printable(f"{name}: {', '.join(told)}")


def _fact(key: str, value: float | str, now: dt.datetime) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case float() if value > _EARLIEST_TIME:
            return ago(value, now=now)
        case int() if key.endswith("Bytes"):
            return size(value)
        case _:
            return words.reason(value) if key == "lastError" else str(value)


def last_sync(last: Mapping[str, Any], now: dt.datetime) -> str:
    """What the last sync did, in one line."""
    counts = f"{last.get('changed', 0)} changed, {last.get('removed', 0)} removed"
    took = f"{float(last.get('tookMs') or 0):.0f} ms"
    detail = f" ({last['detail']})" if last.get("detail") else ""
    return printable(f"{ago(last.get('at'), now=now)}, {last.get('engine')}: {counts}, {took}{detail}")


def _worker(worker: Mapping[str, Any]) -> str:
    memory = f", {size(worker['rssBytes'])}" if worker.get("rssBytes") else ""
    return f"{worker.get('state', 'unknown')}" + (f" (pid {worker['pid']}{memory})" if worker.get("pid") else "")


def _notice(notice: Mapping[str, Any], style: Style, *, of: str = "") -> str:
    text = style.warn(printable(f"{of}: {notice.get('message')}" if of else str(notice.get("message"))))
    return f"{text}\n  try: {printable(str(notice['action']))}" if notice.get("action") else text
