"""`qmd-sidecar embed`: give every chunk its vector now, or say first what that takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from sidecar.cli.columns import Column, lines
from sidecar.cli.exits import Exit, print_json, say, verb
from sidecar.cli.options import connect, several_agents, shared_options
from sidecar.cli.progress import waiting
from sidecar.cli.sync import WAIT_S, outcome, show
from sidecar.wording.terminal import one_line, printable
from sidecar.wording.words import notice_line


@click.command()
@several_agents
@click.option("--estimate", is_flag=True, help="Only say what would be embedded, and by which provider.")
@shared_options
@verb
def embed(
    agents: tuple[str, ...],
    estimate: bool,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> Exit:
    """Embed what has no vector yet, and return when it is done.

    Of every agent when none is named. A sync does the same; --estimate tells what it would send.
    """
    client = connect(config, state_dir, socket, timeout_s=WAIT_S)
    replies: dict[str, Mapping[str, Any]] = {}
    for agent in agents or [str(each["id"]) for each in client.agents()]:
        asked = {"estimate": True} if estimate else {"embed": True, "wait": True}
        with waiting(client, agent, "counting" if estimate else "embedding"):
            replies[agent] = client.sync(agent, **asked)
        if not estimate and not as_json:
            show(agent, replies[agent])
    if as_json:
        print_json({"agents": replies})
    elif estimate:
        _show_estimates(replies)
    return outcome(replies, "estimate" if estimate else "reports")


def _show_estimates(replies: Mapping[str, Mapping[str, Any]]) -> None:
    """One row for each agent that could be estimated; remarks are talk."""
    told = {agent: reply["estimate"] for agent, reply in replies.items() if reply.get("estimate")}
    if told:
        print("\n".join(lines(_columns(told))), flush=True)
    for agent, reply in replies.items():
        for notice in reply.get("notices") or []:
            say(f"{printable(agent)}: {notice_line(notice)}")
    for agent, need in told.items():
        if need.get("rebuild"):
            say(f"{printable(agent)}: model, provider or chunk sizes are others than those of the index")
    if any(need.get("chunks") for need in told.values()):
        say("tokens are an estimate; what a provider counts and charges is its own affair")


def _columns(told: Mapping[str, Mapping[str, Any]]) -> list[Column]:
    def counts(key: str) -> Column:
        return Column(title=key.upper(), cells=[f"{need.get(key) or 0:,}" for need in told.values()], right=True)

    return [
        Column(title="AGENT", cells=[one_line(agent) for agent in told]),
        Column(title="PROVIDER", cells=[printable(_provider(need)) for need in told.values()]),
        *map(counts, ("files", "chunks", "tokens", "cached", "kept")),
    ]


def _provider(need: Mapping[str, Any]) -> str:
    if need.get("provider") == "none":
        return "none (keywords only)"
    named = " ".join(str(need[key]) for key in ("provider", "model") if need.get(key))
    return f"{named} (hosted)" if need.get("hosted") else named
