"""Find qmd and say exactly what is wrong when it cannot run.

"No such file" has three causes that look alike: qmd is not there, the interpreter in its first line is not
there, or the working directory is not. Each gets its own text, naming the file.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from backends import look_alike
from backends.base import BackendError, Failure
from backends.presence import is_there
from backends.qmd.capabilities import NEWEST_TRIED, Capabilities, Version, capabilities_of
from backends.qmd.child import Surroundings, run
from backends.qmd.output import failure_of, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """One qmd on disk. Equal values are the same file, unchanged: `mtime_ns` and `inode` are of the resolved file."""

    path: Path
    inode: int
    mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """A qmd that runs. `version` is empty when it printed none."""

    binary: Binary
    version: Version

    @property
    def label(self) -> str:
        """The version for people."""
        return ".".join(map(str, self.version)) or "unknown"

    @property
    def able(self) -> Capabilities:
        """What this version can do."""
        return capabilities_of(self.version)

    @property
    def tried(self) -> bool:
        """Whether this version is not newer than all that were tried, and says which it is."""
        return bool(self.version) and self.version <= NEWEST_TRIED


def find(command: str, environ: Mapping[str, str]) -> Binary:
    """The binary that `command` names on the PATH of `environ`.

    Raises `BackendError`: `missing` when there is none, `broken_install` when it cannot be started.
    """
    path = environ.get("PATH", os.defpath)
    found = which(os.path.expanduser(command), path)  # noqa: PTH111 - a bare name must stay bare
    if found is None:
        raise _missing(command)
    resolved = Path(os.path.realpath(found))
    _check_interpreter(resolved, path)
    info = resolved.stat()
    return Binary(path=Path(found).absolute(), inode=info.st_ino, mtime_ns=info.st_mtime_ns)


def which(command: str, path: str) -> str | None:
    """As `shutil.which`, but past look-alikes: such a `qmd` would only ask whoever is looking for one."""
    folders = path.split(os.pathsep)
    places = (shutil.which(command, path=folder) for folder in ([path] if "/" in command else folders))
    return next((found for found in places if found and not look_alike.is_one(Path(found))), None)


async def probe(binary: Binary, surroundings: Surroundings, *, timeout_s: float) -> Install:
    """Ask a binary for its version. Raises `BackendError` when it does not run."""
    completed = await run([str(binary.path), "--version"], surroundings, timeout_s=timeout_s)
    if completed.status != 0 or completed.timed_out:
        raise failure_of(completed)
    return Install(binary=binary, version=version_in(plain(completed.stdout)))


def version_in(text: str) -> Version:
    """The version in what `qmd --version` prints (`qmd 2.8.3 (facd35e)`); empty when there is none."""
    match = re.search(r"(?<![\d.])(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part) for part in match.groups() if part is not None) if match else ()


def _missing(command: str) -> BackendError:
    named = Path(command)
    if "/" in command and is_there(named):
        return BackendError(Failure.BROKEN_INSTALL, f"{command} is not executable.", hint=f"chmod +x {command}")
    return BackendError(
        Failure.MISSING,
        f"{command} was not found on the daemon's PATH.",
        hint="Install it (npm install -g @tobilu/qmd) or set memory.qmd.command to its full path.",
    )


def _check_interpreter(script: Path, path: str) -> None:
    interpreter = interpreter_of(script)
    if interpreter is None or shutil.which(interpreter, path=path):
        return
    raise BackendError(
        Failure.BROKEN_INSTALL,
        f"{script} needs {interpreter}, which was not found on the daemon's PATH.",
        hint=f"Install {interpreter} or add its folder to the service's PATH.",
    )


def interpreter_of(script: Path) -> str | None:
    """The program that the first line of a script names, through `env` too; None for a native binary."""
    try:
        with script.open("rb") as stream:
            first = stream.readline(512)
    except OSError:
        return None
    if not first.startswith(b"#!"):
        return None
    words = first[2:].decode("utf-8", errors="replace").split()
    if words and words[0].endswith("/env"):
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else None
