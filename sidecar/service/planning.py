"""Turn what was configured into what a service manager must know: a manager starts us with next to no environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from backends.base import BackendError
from backends.qmd.home import MODEL_VARIABLES
from backends.qmd.install import find, interpreter_of, which
from sidecar import places
from sidecar.config import Settings
from sidecar.service.invocation import Invocation, command

STANDARD_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin")
#: Variables of a shell that decide which files and models the daemon uses. Keys are not copied into a file.
KEPT_VARIABLES = (
    *("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "OPENCLAW_CONFIG_PATH", "OPENCLAW_STATE_DIR"),
    *("HF_ENDPOINT", "TZ"),
    *MODEL_VARIABLES,
)


def plan(settings: Settings, environ: Mapping[str, str], given: Mapping[str, Path | None]) -> Invocation:
    """The invocation for `settings`; `given` are the places that flags named, by flag."""
    flags = [word for flag, path in given.items() if path is not None for word in (flag, str(path.absolute()))]
    kept = {name: environ[name] for name in KEPT_VARIABLES if environ.get(name)}
    return Invocation(
        argv=(*command(), "run", *flags),
        environment={"PATH": service_path(settings.memory.qmd.command, environ), **kept},
        writes=_writes(settings, environ),
    )


def qmd_trouble(settings: Settings, environ: Mapping[str, str]) -> BackendError | None:
    """Why no qmd would be found on the PATH that the service gets."""
    name = settings.memory.qmd.command
    try:
        find(name, {"PATH": service_path(name, environ)})
    except BackendError as error:
        return error
    return None


def service_path(qmd: str, environ: Mapping[str, str]) -> str:
    """A PATH with the folders of qmd and of what runs it, in the order of the PATH that `environ` has."""
    path = environ.get("PATH", os.defpath)
    needed = {folder for name in _programs(qmd, path) if (folder := _folder(name, path))}
    order = [folder for folder in path.split(os.pathsep) if folder in needed or folder in STANDARD_FOLDERS]
    brew = ("/opt/homebrew/bin",) if sys.platform == "darwin" else ()
    return os.pathsep.join(dict.fromkeys((*order, *sorted(needed), *brew, *STANDARD_FOLDERS)))


def _programs(qmd: str, path: str) -> list[str]:
    """What must be found: qmd, what its first line names, and what its launcher may choose between."""
    found = which(qmd, path=path)
    interpreter = interpreter_of(Path(found)) if found else None
    return [name for name in (qmd, interpreter, "node", "bun") if name]


def _folder(name: str, path: str) -> str | None:
    found = which(name, path=path)
    return str(Path(found).parent) if found and Path(found).is_absolute() else None


def _writes(settings: Settings, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Where the daemon writes: its state, the models, its socket, and what was configured to lie elsewhere."""
    cache = Path(environ.get("XDG_CACHE_HOME") or places.home(environ) / ".cache")
    export_dir, log_file = settings.memory.qmd.sessions.export_dir, settings.sidecar.log.file
    folders = [
        *(settings.state_dir, cache / "qmd", cache / places.FOLDER, settings.socket.parent),
        *((Path(export_dir).expanduser(),) if export_dir else ()),
        *((Path(log_file).expanduser().parent,) if log_file else ()),
        *(agent.index_path.parent for agent in settings.agents.values()),
    ]
    kept: list[Path] = []
    for folder in dict.fromkeys(folders):
        if not any(folder.is_relative_to(other) for other in kept):
            kept.append(folder)
    return tuple(kept)
