"""`qmd-sidecar stop`: drain the daemon and wait until it is gone."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import click

from sidecar.cli.exits import Exit, VerbError, print_json, say, verb
from sidecar.cli.options import connect, shared_options
from sidecar.client import BadReplyError, Client, NotRunningError

#: Longer than the daemon's own drain.
DEADLINE_S = 15.0
_PAUSE_S = 0.05


@click.command()
@shared_options
@verb
def stop(
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> None:
    """Stop the daemon: running searches are answered first."""
    client = connect(config, state_dir, socket, timeout_s=DEADLINE_S)
    # A daemon may go down faster than it can answer; whether it is really gone is seen below.
    with contextlib.suppress(BadReplyError):
        client.shutdown()
    wait_until_gone(client, deadline_s=DEADLINE_S)
    if as_json:
        print_json({"stopped": True, "socket": str(client.path)})
    else:
        say("stopped")


def wait_until_gone(client: Client, *, deadline_s: float) -> None:
    """Return when nobody listens any more. Raises `VerbError` after the deadline."""
    give_up_at = time.monotonic() + deadline_s
    while time.monotonic() < give_up_at:
        try:
            client.knock()
        except NotRunningError:
            return
        time.sleep(_PAUSE_S)
    raise VerbError(
        Exit.TIMEOUT,
        "still_stopping",
        f"the daemon still listens after {deadline_s:g} s",
        hint="a second stop, or end the process that `qmd-sidecar status` names",
    )
