"""`qmd-sidecar search`: ask an agent's memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from sidecar.cli import words
from sidecar.cli.exits import Exit, VerbError, print_json, say, verb
from sidecar.cli.options import agent_option, choose_agent, connect, shared_options
from sidecar.cli.terminal import Style, printable

#: The daemon keeps its own deadline; ours is for a daemon that does not.
GRACE_S = 5.0
_PARTS = {"words": "textScore", "vectors": "vectorScore"}
_EMPTY_EXITS = {"denied": Exit.DENIED, "disabled": Exit.UNAVAILABLE, "unavailable": Exit.UNAVAILABLE}


@click.command()
@click.argument("query")
@agent_option
@click.option("--max-results", "-n", type=click.IntRange(1, 50), help="At most so many passages.")
@click.option("--mode", type=click.Choice(["search", "vsearch", "query"]), help="How to search.")
@click.option("--min-score", type=click.FloatRange(0, 1), help="The least relevance.")
@click.option("--after", metavar="DAY", help="Only notes of this day (YYYY-MM-DD) or later.")
@click.option("--before", metavar="DAY", help="Only notes of this day or earlier.")
@click.option("--explain", is_flag=True, help="Say why each passage was found and stands where it does.")
@click.option("--session", metavar="KEY", help="Search as this session would: its scope applies.")
@click.option("--timeout-ms", type=click.IntRange(1, 600_000), help="The deadline of the search.")
@shared_options
@verb
def search(
    query: str,
    agent: str | None,
    max_results: int | None,
    mode: str | None,
    min_score: float | None,
    after: str | None,
    before: str | None,
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
    chosen = choose_agent(client, agent)
    reply = client.search(
        chosen,
        query=query,
        maxResults=max_results,
        mode=mode,
        minScore=min_score,
        after=after,
        before=before,
        explain=explain or None,
        sessionKey=session or f"agent:{chosen}:cli:direct:search",
        timeoutMs=timeout_ms,
    )
    if as_json:
        print_json(reply)
    else:
        show(reply, query, Style.of())
    return outcome_exit(reply)


def outcome_exit(reply: Mapping[str, Any]) -> Exit:
    """The exit code of an answer: a search that found nothing has not failed, one that was cut short has."""
    outcome = str(reply.get("outcome"))
    if (outcome == "partial" and not reply.get("results")) or reply.get("reason") == "timeout":
        return Exit.TIMEOUT
    return _EMPTY_EXITS.get(outcome, Exit.OK)


def show(reply: Mapping[str, Any], query: str, style: Style) -> None:
    """Print an answer for a person: passages on standard output, the circumstances on standard error."""
    results = reply.get("results") or []
    for result in results:
        print(heading(result, str(reply.get("backend") or "?"), style))
        for line in remarks(result):
            print(f"    {style.dim(printable(line))}")
        for line in passage(result):
            print(f"    {style.highlight(line, query)}")
        print(flush=True)
    if not results:
        say(words.outcome(reply))
    say(Style.of(sys.stderr).dim(summary(reply)))
    for notice in reply.get("notices") or []:
        say(words.notice_line(notice))


def heading(result: Mapping[str, Any], engine: str, style: Style) -> str:
    """`path:first-last  score  engine` of one passage; an image or a recording has no lines."""
    first, last = result.get("startLine"), result.get("endLine")
    lines = "" if result.get("media") else f":{first}" if first == last else f":{first}-{last}"
    where = style.bold(f"{printable(str(result.get('path', '?')))}{lines}")
    return f"{where}  {float(result.get('score') or 0):.2f}  {style.dim(engine)}"


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    """What is said of a passage: that there is newer word on it, and why it was found, when that was asked."""
    if newer := result.get("newer"):
        yield f"newer: {newer}"
    if why := result.get("explain"):
        parts = [
            f"relevance {why['relevance']:.2f}",
            *(f"{name} {why[key]:.2f}" for name, key in _PARTS.items() if why[key] is not None),
            f"factor {why['factor']:.2f}" if why["factor"] != 1 else "",
            f"found by {why['window']['reason']}",
            f"words {', '.join(why['matchedWords'])}" if why["matchedWords"] else "",
        ]
        yield " · ".join(part for part in parts if part)


def passage(result: Mapping[str, Any]) -> list[str]:
    """The lines of a passage, without the citation that a heading makes redundant."""
    text = str(result.get("snippet", "")).removesuffix(f"\n\nSource: {result.get('citation')}")
    return printable(text).splitlines()


def summary(reply: Mapping[str, Any]) -> str:
    """One line: how many, how fast, by which engine and why by that one, what is not indexed yet."""
    pending = reply.get("pending") or {}
    parts = [
        words.counted(len(reply.get("results") or []), "result"),
        f"{reply['tookMs']:.0f} ms" if isinstance(reply.get("tookMs"), int | float) else "",
        " ".join(str(reply[key]) for key in ("backend", "mode") if reply.get(key)),
        words.fallback(reply.get("fallback")),
        f"{words.counted(pending['files'], 'file')} not indexed yet" if pending.get("files") else "",
    ]
    return " · ".join(part for part in parts if part)
