"""`qmd-sidecar search`: ask an agent's memory."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from sidecar.cli.answer import Showing, show
from sidecar.cli.exits import Exit, VerbError, print_json, verb
from sidecar.cli.links import Addresses, addresses, nowhere
from sidecar.cli.options import agent_option, choose_agent, connect, shared_options
from sidecar.client import Client, ClientError
from sidecar.client.asked import Mode
from sidecar.wording.terminal import Style, can_redraw

#: The daemon keeps its own deadline; ours is for a daemon that does not.
GRACE_S = 5.0
_EMPTY_EXITS = {"denied": Exit.DENIED, "disabled": Exit.UNAVAILABLE, "unavailable": Exit.UNAVAILABLE}

_DAY = click.DateTime(formats=["%Y-%m-%d"])


@click.command()
@click.argument("query")
@agent_option
@click.option("--max-results", "-n", type=click.IntRange(1, 50), help="At most so many passages.")
@click.option("--mode", type=click.Choice(["search", "vsearch", "query"]), help="How to search.")
@click.option("--min-score", type=click.FloatRange(0, 1), help="The least relevance.")
@click.option("--after", type=_DAY, metavar="DAY", help="Only notes of this day (YYYY-MM-DD) or later.")
@click.option("--before", type=_DAY, metavar="DAY", help="Only notes of this day or earlier.")
@click.option("--explain", is_flag=True, help="Say why each passage was found and stands where it does.")
@click.option("--session", metavar="KEY", help="Search as this session would: its scope applies.")
@click.option("--timeout-ms", type=click.IntRange(1, 600_000), help="The deadline of the search.")
@shared_options
@verb
def search(
    query: str,
    agent: str | None,
    max_results: int | None,
    mode: Mode | None,
    min_score: float | None,
    after: datetime | None,
    before: datetime | None,
    explain: bool,
    session: str | None,
    timeout_ms: int | None,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> Exit:
    """Search an agent's memory and show the passages that answer."""
    if not query.strip():
        raise VerbError(
            Exit.USAGE, "empty_query", "the query is empty", hint="qmd-sidecar search 'what did we decide?'"
        )
    timeout_s = 60.0 if timeout_ms is None else timeout_ms / 1000 + GRACE_S
    client = connect(config, state_dir, socket, timeout_s=timeout_s)
    chosen = choose_agent(client, agent, session=session)
    reply = client.search(
        chosen,
        query=query,
        maxResults=max_results,
        mode=mode,
        minScore=min_score,
        after=_iso(after),
        before=_iso(before),
        explain=explain or None,
        sessionKey=session or f"agent:{chosen}:cli:direct:search",
        timeoutMs=timeout_ms,
    )
    if as_json:
        print_json(reply)
    else:
        _show(client, chosen, reply, query, session)
    return outcome_exit(reply)


def _iso(day: datetime | None) -> str | None:
    return day.date().isoformat() if day else None


def _show(client: Client, agent: str, reply: Mapping[str, Any], query: str, session: str | None) -> None:
    """Print the answer; for a session of its own as that one would get it, with the rule that lets it read."""
    rule = ""
    address: Addresses = nowhere
    with contextlib.suppress(ClientError):
        if session:
            decision = client.explain_scope(agent=agent, sessionKey=session)["decision"]
            rule = decision["rule"] if decision["allowed"] else ""
        if can_redraw(sys.stdout, os.environ) and reply.get("results"):
            address = addresses(client.status(agent))
    show(reply, Showing(question=query, style=Style.of(), address=address, as_sent=bool(session)), scope=rule)


def outcome_exit(reply: Mapping[str, Any]) -> Exit:
    """The exit code of an answer: a search that found nothing has not failed, one that was cut short has."""
    outcome = str(reply.get("outcome"))
    if (outcome == "partial" and not reply.get("results")) or reply.get("reason") == "timeout":
        return Exit.TIMEOUT
    return _EMPTY_EXITS.get(outcome, Exit.OK)
