"""Disks on which others write without this kernel hearing of it."""

from __future__ import annotations

import os
from pathlib import Path

#: One line for each mounted disk; Linux alone has it.
MOUNTS = Path("/proc/self/mountinfo")
_SILENT = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "drvfs", "vboxsf", "virtiofs"}
)


def silent_devices() -> frozenset[int]:
    """The device numbers (`st_dev`) of network disks, of shares of a virtual machine's host, and of FUSE disks."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    return frozenset(_device(line) for line in lines if _is_silent(line.rpartition(" - ")[2].partition(" ")[0]))


def _is_silent(kind: str) -> bool:
    return kind in _SILENT or kind.startswith("fuse")


def _device(line: str) -> int:
    major, _, minor = line.split(" ")[2].partition(":")
    return os.makedev(int(major), int(minor))
