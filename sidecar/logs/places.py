"""Where a daemon's log is: chosen when it starts, and written down for whoever wants to read it.

`<stateDir>/log/where.json` outlives the daemon, so that the log of one that crashed is found without its configuration.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

LOG_FOLDER = "log"
_WHERE = "where.json"
_UNIT = re.compile(r"/([^/\n]+)\.service$", re.MULTILINE)
_DEFAULT_UNIT = "qmd-sidecar"


@dataclass(frozen=True, slots=True)
class Where:
    """`stream` is what standard error is; `file` is the log file, if there is one.

    `unit` is the service under which journald keeps the lines, `of_user` says of whose manager.
    """

    stream: Literal["terminal", "journal", "other"]
    file: str | None = None
    unit: str = _DEFAULT_UNIT
    of_user: bool = True


def choose(
    stderr: int, environ: Mapping[str, str], *, state_dir: Path, named: Path | None, cgroup: str | None = None
) -> Where:
    """Where a daemon with this standard error is to log.

    A terminal and journald keep what they are given. Elsewhere nobody bounds or rotates it, so there is a file as well.
    """
    file = str(named) if named else None
    if is_journal(stderr, environ):
        unit, of_user = _unit(_own_cgroup() if cgroup is None else cgroup)
        return Where("journal", file, unit, of_user)
    if os.isatty(stderr):
        return Where("terminal", file)
    return Where("other", file or str(state_dir / LOG_FOLDER / "sidecar.log"))


def is_journal(descriptor: int, environ: Mapping[str, str]) -> bool:
    """Whether a descriptor leads to journald: `JOURNAL_STREAM` is inherited by children that write elsewhere."""
    try:
        info = os.fstat(descriptor)
    except OSError:
        return False
    return environ.get("JOURNAL_STREAM") == f"{info.st_dev}:{info.st_ino}"


def remember(where: Where, state_dir: Path) -> None:
    """Write down where the log is. Raises OSError."""
    path = state_dir / LOG_FOLDER / _WHERE
    path.write_text(json.dumps(asdict(where)), encoding="utf-8")


def remembered(state_dir: Path) -> Where | None:
    """Where the last daemon of a state folder logs or has logged; None when none has said so."""
    try:
        return Where(**json.loads((state_dir / LOG_FOLDER / _WHERE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _own_cgroup() -> str:
    try:
        return Path("/proc/self/cgroup").read_text(encoding="utf-8")
    except OSError:
        return ""


def _unit(cgroup: str) -> tuple[str, bool]:
    found = _UNIT.search(cgroup)
    return (found[1] if found else _DEFAULT_UNIT), "/user@" in cgroup or not found
