"""How a service manager is to start the daemon."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """A command line with absolute paths, the variables it needs, and the folders that it writes to."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    writes: tuple[Path, ...]


def command() -> tuple[str, ...]:
    """The command `qmd-sidecar` of this very installation, by an absolute path that an upgrade keeps."""
    script = Path(sys.executable).parent / "qmd-sidecar"
    # Isolated: a folder called `sidecar` in the service's working directory must not be taken for us.
    return (str(script),) if script.is_file() else (sys.executable, "-I", "-m", "sidecar")
