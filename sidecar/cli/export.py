"""`qmd-sidecar export`: make conversations into files now, or say first what that would change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from sidecar.cli.exits import Exit, print_json, say, verb
from sidecar.cli.options import connect, several_agents, shared_options
from sidecar.cli.progress import waiting
from sidecar.cli.sync import WAIT_S, outcome
from sidecar.wording.terminal import printable
from sidecar.wording.words import counted, notice_line

#: What is told only where there is something to tell.
_REMARKS = {
    "empty": "empty",
    "expired": "beyond retention",
    "leftOut": "of jobs",
    "forgotten": "forgotten",
    "passedOver": "older",
    "badLines": "unreadable lines",
    "failed": "failed",
}


@click.command()
@several_agents
@click.option("--dry-run", is_flag=True, help="Write nothing; name what would be written and removed.")
@click.option("--diff", is_flag=True, help="Show what changes in the exports, redacted.")
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Only transcripts that were written on or after this day.",
)
@shared_options
@verb
def export(
    agents: tuple[str, ...],
    dry_run: bool,
    diff: bool,
    since: datetime | None,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> Exit:
    """Make conversations into Markdown that can be searched, without their secrets.

    Of every agent when none is named. Every sync does the same.
    """
    client = connect(config, state_dir, socket, timeout_s=WAIT_S)
    day = since.date().isoformat() if since else None
    replies: dict[str, Mapping[str, Any]] = {}
    for agent in agents or [str(each["id"]) for each in client.agents()]:
        with waiting(client, agent, "exporting"):
            replies[agent] = client.export(agent, dryRun=dry_run, diff=diff, since=day)
        if not as_json:
            _show(agent, replies[agent], dry_run=dry_run)
    if as_json:
        print_json({"agents": replies})
    failed = any((reply.get("export") or {}).get("failed") for reply in replies.values())
    return Exit.FAILURE if failed else outcome(replies, "export")


def _show(agent: str, reply: Mapping[str, Any], *, dry_run: bool) -> None:
    report = reply.get("export")
    if report:
        print(printable(f"{agent}: {_summary(report, dry_run=dry_run)}"))
        if dry_run:
            print("".join(f"{line}\n" for line in _changes(report)), end="")
        print("".join(f"{printable(line)}\n" for line in (report.get("diff") or "").splitlines()), end="", flush=True)
        if report.get("diffCut"):
            say("there are more differences than are shown")
    for notice in reply.get("notices") or []:
        say(f"{printable(agent)}: {notice_line(notice)}")


def _summary(report: Mapping[str, Any], *, dry_run: bool) -> str:
    would = "would be " if dry_run else ""
    done = f"{would}{report['written']:,} written, {report['removed']:,} removed, {report['unchanged']:,} unchanged"
    remarks = [f"{report[key]:,} {words}" for key, words in _REMARKS.items() if report.get(key)]
    return "; ".join([", ".join([done, *remarks]), _redacted(report.get("redacted") or {})])


def _redacted(kinds: Mapping[str, int]) -> str:
    named = ", ".join(f"{kind} {number:,}" for kind, number in sorted(kinds.items()))
    return f"{counted(sum(kinds.values()), 'secret')} redacted" + (f" ({named})" if named else "")


def _changes(report: Mapping[str, Any]) -> Iterator[str]:
    changes = report.get("changes") or []
    for change in changes:
        what = f" ({counted(change['turns'], 'turn')}, {change['redacted']:,} redacted)" if change["turns"] else ""
        yield printable(f"  would {change['action']} {change['name']}{what}")
    if more := report["written"] + report["removed"] - len(changes):
        yield f"  and {more:,} more"
