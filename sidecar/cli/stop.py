"""`qmd-sidecar stop`: drain the daemon and wait until it is gone."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import click

from sidecar.cli.exits import Exit, VerbError, print_json, say, verb
from sidecar.cli.options import connect, shared_options
from sidecar.client import BadReplyError

#: Longer than the daemon's own drain, and the end of its children after it.
DEADLINE_S = 20.0
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
    pid = client.info().get("pid")
    if not isinstance(pid, int):
        raise BadReplyError("the daemon does not say which process it is", hint=f"see who listens at {client.path}")
    # A daemon may go down faster than it can answer; whether it is really gone is seen below.
    with contextlib.suppress(BadReplyError):
        client.shutdown()
    wait_until_gone(client.path, pid, deadline_s=DEADLINE_S)
    if as_json:
        print_json({"stopped": True, "pid": pid, "socket": str(client.path)})
    else:
        say("stopped")


def wait_until_gone(socket: Path, pid: int, *, deadline_s: float) -> None:
    """Return when the daemon has removed its socket, the last thing it does, or has ended without doing so.

    That nobody listens any more is not enough: a draining daemon closes its ears first and its indexes later.
    Raises `VerbError` after the deadline.
    """
    give_up_at = time.monotonic() + deadline_s
    while socket.exists() and _is_alive(pid):
        if time.monotonic() > give_up_at:
            raise VerbError(
                Exit.TIMEOUT,
                "still_stopping",
                f"the daemon (pid {pid}) has not ended within {deadline_s:g} s",
                hint=f"kill {pid}",
            )
        time.sleep(_PAUSE_S)


def _is_alive(pid: int) -> bool:
    """Whether a process of this number exists; somebody else's counts."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
