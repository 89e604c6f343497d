"""Sockets that the service manager opened for us: the protocol of sd_listen_fds(3)."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import MutableMapping
from pathlib import Path

from sidecar.errors import StartupError

_FIRST_DESCRIPTOR = 3
#: What a manager writes; anything else is from somebody who means something else.
_COUNT = re.compile(r"[1-9][0-9]{0,3}")
#: The name of our socket in the unit, `FileDescriptorName=`.
NAME = "api"


def inherited(environ: MutableMapping[str, str], *, pid: int) -> socket.socket | None:
    """The listening socket that process `pid` was given, None where it was given none.

    The variables are removed and the descriptors closed in children: they were meant for us alone. Raises
    `StartupError` for a socket that is not a Unix socket with a path: whoever reaches it could not be told apart.
    """
    keeper, count = environ.pop("LISTEN_PID", ""), environ.pop("LISTEN_FDS", "")
    names = environ.pop("LISTEN_FDNAMES", "").split(":")
    if keeper != str(pid) or not _COUNT.fullmatch(count):
        return None
    given = range(_FIRST_DESCRIPTOR, _FIRST_DESCRIPTOR + int(count))
    for descriptor in given:
        _keep_from_children(descriptor)
    named = dict(zip(names, given, strict=False))
    return _listening(named.get(NAME, given[0]))


def path_of(sock: socket.socket) -> Path:
    """The file that names a socket which `inherited` returned."""
    return Path(os.fsdecode(sock.getsockname()))


def _keep_from_children(descriptor: int) -> None:
    try:
        os.set_inheritable(descriptor, False)
    except OSError as error:
        raise _unusable(f"descriptor {descriptor} is not open") from error


def _listening(descriptor: int) -> socket.socket:
    try:
        sock = socket.socket(fileno=descriptor)
    except OSError as error:
        raise _unusable(f"descriptor {descriptor} is not a socket") from error
    name = sock.getsockname()
    listens = sock.type == socket.SOCK_STREAM and sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    if sock.family != socket.AF_UNIX or not listens or not os.fsencode(name).startswith(b"/"):
        raise _unusable("it is not a listening Unix socket with a path")
    sock.setblocking(False)
    return sock


def _unusable(why: str) -> StartupError:
    return StartupError(
        "activation_unusable",
        f"the service manager handed over a socket that cannot be used: {why}",
        hint="correct ListenStream= in the socket unit, or disable the unit",
        exit_code=78,
    )
