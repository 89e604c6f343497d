"""`qmd-sidecar reload`: have the daemon read its configuration again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from sidecar.cli.exits import print_json, say, verb
from sidecar.cli.options import connect, shared_options
from sidecar.wording.terminal import printable
from sidecar.wording.words import counted, listed

#: Longer than the syncs under way are waited for.
DEADLINE_S = 30.0
_SHOWN_KEYS = 8


@click.command()
@shared_options
@verb
def reload(
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> None:
    """Read the configuration again, without a restart.

    Agents whose settings differ are made anew, one by one; a configuration that is wrong changes nothing.
    """
    reply = connect(config, state_dir, socket, timeout_s=DEADLINE_S).reload()
    if as_json:
        print_json(reply)
        return
    for line in told(reply):
        say(line)


def told(reply: Mapping[str, Any]) -> Iterator[str]:
    """The reply in a few lines."""
    changed = _texts(reply.get("changed"))
    yield f"reloaded: {counted(len(changed), 'key')} changed" if changed else "reloaded: nothing changed"
    if changed:
        yield f"  {printable(listed(changed, _SHOWN_KEYS))}"
    agents = reply.get("agents") or {}
    for what in ("added", "removed", "rebuilt"):
        if ids := _texts(agents.get(what)):
            yield f"  {what}: {printable(listed(ids, _SHOWN_KEYS))}"
    if waiting := _texts(reply.get("needsRestart")):
        yield f"not until a restart: {printable(listed(waiting, _SHOWN_KEYS))}"


def _texts(value: Any) -> Sequence[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
