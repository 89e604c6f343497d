"""The folders that systemd makes for a unit, in the place of the base folders that a login would name."""

from __future__ import annotations

from collections.abc import MutableMapping

_STANDS_FOR = {"RUNTIME_DIRECTORY": "XDG_RUNTIME_DIR", "STATE_DIRECTORY": "XDG_STATE_HOME"}


def adopt(environ: MutableMapping[str, str], *, pid: int) -> None:
    """Let `$RUNTIME_DIRECTORY` and `$STATE_DIRECTORY` of our own unit be the base folders that are not named.

    Only for the process that the unit started: below a gateway that is a service, too, the folders are the gateway's.
    """
    if environ.get("SYSTEMD_EXEC_PID") != str(pid):
        return
    for made, base in _STANDS_FOR.items():
        first = environ.get(made, "").split(":")[0]
        if first:
            environ.setdefault(base, first)
