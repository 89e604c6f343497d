"""Where the running daemon listens."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from sidecar import places
from sidecar.client.errors import NotRunningError, failures_named
from sidecar.client.exchange import dial


def find(
    environ: Mapping[str, str] = os.environ,
    *,
    socket: Path | None = None,
    state_dir: Path | None = None,
    config: Path | None = None,
) -> Path:
    """The socket at which the daemon of this user answers, found as the command line finds it.

    A named socket, or `SIDECAR_SOCKET`, is the only one; a named state folder, or `SIDECAR_STATE_DIR`, means its own
    daemon; else it is where a daemon listens by default, or says in a pointer file that it does. Raises
    `NotRunningError` when nobody listens at any of them, `NotAllowedError` when this user may not open one.
    """
    paths = sockets(
        environ,
        socket=socket or _named(environ, "SIDECAR_SOCKET"),
        state_dir=state_dir or _named(environ, "SIDECAR_STATE_DIR"),
        config=config,
    )
    for path in paths:
        with contextlib.suppress(NotRunningError):
            _knock(path)
            return path
    # The first place is the one where a person expects it.
    raise NotRunningError(paths[0])


def _named(environ: Mapping[str, str], variable: str) -> Path | None:
    value = environ.get(variable)
    return Path(value).expanduser() if value else None


def _knock(path: Path) -> None:
    with failures_named(path, 0):
        # A queue that is full is one of somebody who listens.
        if connection := dial(path):
            connection.close()


def sockets(
    environ: Mapping[str, str], *, config: Path | None, state_dir: Path | None, socket: Path | None
) -> list[Path]:
    """Where the daemon may listen, best first. A named socket is the only one; never empty.

    A named state folder means the daemon of that folder and no other, so that `stop --state-dir A` cannot stop
    B, which holds the default socket.
    """
    if socket is not None:
        return [socket]
    state = state_dir or places.state_dir(environ, config=config)
    folders = places.run_dirs(environ, state)
    meeting = [folder for folder in (*folders, places.meeting_dir(environ)) if places.is_ours(folder)]
    pointers = [pointer for folder in meeting if (pointer := read_pointer(folder / places.POINTER))]
    wanted = [at for at, owner in pointers if state_dir is None or owner.absolute() == state.absolute()]
    strange = {at for at, _ in pointers} - set(wanted)
    usual = [folder / places.SOCKET for folder in folders]
    found = [*usual[:1], *wanted, *usual[1:]] if state_dir is None else [*wanted, *usual]
    return [path for path in dict.fromkeys(found) if path not in strange] or usual[-1:]


def read_pointer(path: Path) -> tuple[Path, Path] | None:
    """The socket and the state folder that a running daemon wrote down; None for anything unreadable."""
    try:
        pointer = json.loads(path.read_text(encoding="utf-8"))
        return Path(pointer["socket"]), Path(pointer["stateDir"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
