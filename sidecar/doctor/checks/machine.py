"""What the system must grant: a service that outlives a logout, and events of files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from sidecar import places
from sidecar.doctor.catalogue import Code, Finding
from sidecar.doctor.subject import Subject, account

UNIT = "qmd-sidecar.service"
LINGER = Path("/var/lib/systemd/linger")
LIMITS = Path("/proc/sys/fs/inotify")
#: What other programs of this user, an editor among them, are left.
_SPARE_WATCHES = 1024
_LEAST_WATCHES = 524_288
_LEAST_INSTANCES = 512


def service(subject: Subject) -> Iterator[Finding]:
    """A user unit of systemd that stops at the last logout."""
    yield from lingering(subject.environ, LINGER)


def lingering(environ: Mapping[str, str], folder: Path) -> Iterator[Finding]:
    """Whether the user's unit is installed and its user not in `folder`, where systemd notes who stays."""
    config = Path(environ.get("XDG_CONFIG_HOME") or places.home(environ) / ".config")
    unit = config / "systemd" / "user" / UNIT
    if unit.exists() and not (folder / account()).exists():
        yield Code.NO_LINGER.found(f"{unit} is installed, and systemd ends it with the last login of this user")


def watching(subject: Subject) -> Iterator[Finding]:
    """Folders against the watches of inotify; other systems have no such limit."""
    wanting = [agent for agent in subject.agents if agent.search.sync.watch]
    if not wanting or not sys.platform.startswith("linux"):
        return
    folders = {
        os.path.join(root.path, folder)  # noqa: PTH118 - a hundred thousand times
        for agent in wanting
        for root in subject.corpus(agent).roots
        for folder in root.folders()
    }
    yield from watchable(len(folders), LIMITS)


def watchable(folders: int, limits: Path) -> Iterator[Finding]:
    """Whether so many folders can be watched under the limits in a folder like `/proc/sys/fs/inotify`."""
    watches, instances = (_limit(limits / name) for name in ("max_user_watches", "max_user_instances"))
    if watches is not None and folders + _SPARE_WATCHES > watches:
        message = f"{folders} folders are to be watched, and the kernel allows {watches} watches for everything"
        yield Code.FEW_WATCHES.found(message, number=max(_LEAST_WATCHES, 2 * folders))
    if instances == 0:
        yield Code.FEW_INSTANCES.found("the kernel allows no watcher for this user", number=_LEAST_INSTANCES)


def _limit(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
