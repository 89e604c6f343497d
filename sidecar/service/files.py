"""The units and the property list that are shipped: `systemd/` and `launchd/` of the sources, or the wheel's copy."""

from __future__ import annotations

from pathlib import Path

_IN_THE_WHEEL = Path(__file__).parent / "files"
_IN_THE_SOURCES = Path(__file__).parents[2]

USER_UNIT = "systemd/qmd-sidecar.service"
SYSTEM_UNIT = "systemd/qmd-sidecar@.service"
SOCKET_UNIT = "systemd/qmd-sidecar.socket"
PROPERTY_LIST = "launchd/ai.qmd-sidecar.plist"


def shipped(name: str) -> bytes:
    """One of the files above."""
    folder = _IN_THE_WHEEL if _IN_THE_WHEEL.is_dir() else _IN_THE_SOURCES
    return (folder / name).read_bytes()
