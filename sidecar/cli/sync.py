"""`qmd-sidecar sync`: bring indexes up to date now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from sidecar.cli.exits import Exit, print_json, say, verb
from sidecar.cli.options import connect, several_agents, shared_options
from sidecar.cli.progress import waiting
from sidecar.wording.terminal import printable
from sidecar.wording.words import counted, notice_line

#: A first build over many notes with vectors takes minutes; an hour means that nothing moves any more.
WAIT_S = 3600.0
#: Notices that an agent does not have what was asked for, by its configuration.
_OFF = ("sessions_off", "no_builtin_index")


@click.command()
@several_agents
@click.option("--force", is_flag=True, help="Rebuild, even where nothing changed.")
@click.option("--wait", is_flag=True, help="Return when it is done, and say what was done.")
@shared_options
@verb
def sync(
    agents: tuple[str, ...],
    force: bool,
    wait: bool,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> Exit:
    """Bring indexes up to date with the files now.

    Of every agent when none is named. Without this verb it happens at the configured interval.
    """
    client = connect(config, state_dir, socket, timeout_s=WAIT_S if wait else 60)
    chosen = agents or [str(agent["id"]) for agent in client.agents()]
    replies: dict[str, Mapping[str, Any]] = {}
    for agent in chosen:
        with waiting(client, agent, "syncing"):
            replies[agent] = client.sync(agent, force=force, embed=True, wait=wait)
        if not as_json:
            show(agent, replies[agent])
    if as_json:
        print_json({"agents": replies})
    return outcome(replies, "reports")


def outcome(replies: Mapping[str, Mapping[str, Any]], wanted: str) -> Exit:
    """How it went for all agents: `wanted` is what a reply holds when it went well.

    What is switched off has not failed; it is only then one when nothing else was asked for.
    """
    refusals = [reply["notices"] for reply in replies.values() if reply.get("notices") and not reply.get(wanted)]
    if any(notice.get("code") not in _OFF for notices in refusals for notice in notices):
        return Exit.UNAVAILABLE
    return Exit.FAILURE if refusals and len(refusals) == len(replies) else Exit.OK


def show(agent: str, reply: Mapping[str, Any]) -> None:
    """What was done for one agent: one line per engine, one per file that was skipped, and what went wrong."""
    reports, notices = reply.get("reports") or [], reply.get("notices") or []
    for notice in notices:
        say(f"{printable(agent)}: {notice_line(notice)}")
    if not reports and not notices:
        say(f"{printable(agent)}: {'queued' if reply.get('queued') else 'nothing to do'}")
    for report in reports:
        print(printable(f"{agent}: {report.get('engine')} {done(report)}"), flush=True)
        for path, reason in (report.get("skipped") or {}).items():
            say(printable(f"  skipped {path}: {reason}"))


def done(report: Mapping[str, Any]) -> str:
    """One engine's report as a sentence."""
    detail = f" ({report['detail']})" if report.get("detail") else ""
    if not report.get("ran"):
        return f"had nothing to do{detail}"
    counts = ", ".join(f"{report.get(key, 0)} {key}" for key in ("changed", "removed", "unchanged", "embedded"))
    skipped = counted(len(report.get("skipped") or {}), "file")
    return f"{counts}, {skipped} skipped, {float(report.get('tookMs') or 0):.0f} ms{detail}"
