"""`qmd-sidecar scope`: may this session read, and which rule says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from sidecar.cli import columns
from sidecar.cli.exits import Exit, print_json, say, verb
from sidecar.cli.options import agent_option, choose_agent, connect, shared_options
from sidecar.wording.terminal import Style, printable

#: The facts of a key, with the titles of their lines.
_FACTS = {
    "agent": "agent",
    "channel": "channel",
    "chatType": "chat type",
    "kind": "kind",
    "normalized": "key",
    "problem": "problem",
}


@click.group()
def scope() -> None:
    """Explain who may read an agent's memory."""


@scope.command()
@click.option("--session", metavar="KEY", required=True, help="The session key, as the gateway sends it.")
@click.option("--parent", metavar="KEY", help="The key of the session that started it, for a sub-agent.")
@agent_option
@shared_options
@verb
def explain(
    session: str,
    parent: str | None,
    agent: str | None,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> Exit:
    """Say what a session key tells, which rules match it, and whether it may read.

    The running daemon is asked; nothing is searched. The exit code is 0 when allowed, 5 when denied.
    """
    client = connect(config, state_dir, socket, timeout_s=10)
    chosen = choose_agent(client, agent, session=session)
    reply = client.explain_scope(agent=chosen, sessionKey=session, parentSessionKey=parent)
    if as_json:
        print_json(reply)
    else:
        print("\n".join(map(printable, explained(reply))))
        print(_verdict(reply, Style.of()))
        if reply["key"]["kind"] == "subagent" and parent is None:
            say("try: --parent KEY, the session that the sub-agent works for")
    return Exit.OK if reply["decision"]["allowed"] else Exit.DENIED


def explained(reply: Mapping[str, Any]) -> Iterator[str]:
    """The facts of the key and every rule; of a sub-agent's parent the same, below it."""
    key = reply["key"]
    yield from (f"{title:9}  {key[name]}" for name, title in _FACTS.items() if key.get(name))
    yield ""
    if rules := reply["rules"]:
        rows = [(str(rule["number"]), rule["rule"], "yes" if rule["matched"] else "no", rule["why"]) for rule in rules]
        yield from columns.table([("#", "RULE", "MATCHES", "WHY"), *rows])
    else:
        yield "no rules, only the default"
    yield ""
    if parent := reply.get("parent"):
        yield "the session that started it:"
        yield from (f"  {line}".rstrip() for line in explained(parent))


def _verdict(reply: Mapping[str, Any], style: Style) -> str:
    decision = reply["decision"]
    word = style.good("allowed") if decision["allowed"] else style.bad("denied")
    return f"{word}: {printable(decision['rule'])}"
