"""`qmd-sidecar purge`: have conversations forgotten, and see that nothing is left of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from sidecar.cli.exits import Exit, VerbError, print_json, say, verb
from sidecar.cli.options import agent_option, choose_agent, connect, shared_options
from sidecar.cli.progress import waiting
from sidecar.cli.sync import WAIT_S, outcome
from sidecar.wording.terminal import printable
from sidecar.wording.words import counted, notice_line

_STDIN = "-"


@click.command()
@agent_option
@click.option("--session", metavar="KEY", help="Forget a whole session, by its key or id.")
@click.option(
    "--pattern",
    metavar="RE",
    help="Forget every turn that this matches (RE2); - reads it from standard input, out of sight of others.",
)
@click.option("--dry-run", is_flag=True, help="Change nothing; count what would be forgotten.")
@shared_options
@verb
def purge(
    agent: str | None,
    session: str | None,
    pattern: str | None,
    dry_run: bool,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> Exit:
    """Remove a session, or what a pattern matches, from everything made of conversations, and prove it.

    Ends with 0 only when nothing remains. Transcripts and notes are never written; it says which still hold it.
    """
    if (session is None) == (pattern is None):
        hint = "qmd-sidecar purge --session KEY, or qmd-sidecar purge --pattern -"
        raise VerbError(Exit.USAGE, "session_or_pattern", "name either a session or a pattern", hint=hint)
    client = connect(config, state_dir, socket, timeout_s=WAIT_S)
    chosen = choose_agent(client, agent)
    if pattern == _STDIN:
        pattern = sys.stdin.readline().removesuffix("\n")
    with waiting(client, chosen, "looking"):
        reply = client.purge(chosen, session=session, pattern=pattern, dryRun=dry_run)
    if as_json:
        print_json(reply)
    else:
        _show(chosen, reply, dry_run=dry_run)
    report = reply.get("purge")
    if report is None:
        return outcome({chosen: reply}, "purge")
    return Exit.OK if dry_run or report["done"] else Exit.FAILURE


def _show(agent: str, reply: Mapping[str, Any], *, dry_run: bool) -> None:
    report = reply.get("purge")
    if report:
        print(printable(f"{agent}: {_summary(report, dry_run=dry_run)}"))
        for line in _left(report):
            say(printable(line))
    for notice in (*(reply.get("notices") or []), *((report or {}).get("failures") or [])):
        say(f"{printable(agent)}: {notice_line(notice)}")


def _summary(report: Mapping[str, Any], *, dry_run: bool) -> str:
    counts = [counted(report[f"{each}s"], each) for each in ("session", "turn", "chunk", "vector")]
    done = f"{', '.join(counts)}, {report['cached']:,} cached {'would be ' if dry_run else ''}forgotten"
    if dry_run:
        return done
    scanned = f"{counted(report['filesScanned'], 'file')} ({report['bytes']:,} bytes) scanned"
    result = "nothing remains" if report["done"] else "not all is gone"
    return f"{done}; {scanned}, {result if report['lookedFor'] else 'but nothing in it is telling enough to look for'}"


def _left(report: Mapping[str, Any]) -> Iterator[str]:
    for row in report["remaining"]:
        yield f"  remains {row['count']:,} times in {row['file']}"
    for row in report["notes"]:
        where = f"{counted(row['lines'], 'line')} of your note {row['file']}"
        yield f"  on {where}: edit it, or the next sync brings it back"
    for row in report["transcripts"]:
        yield f"  in {counted(row['turns'], 'turn')} of the gateway's transcript {row['file']}, which stays as it is"
    for file in report["unread"]:
        yield f"  could not be read: {file}"
