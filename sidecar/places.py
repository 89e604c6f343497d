"""Where the daemon's files are by default, worked out without loading the configuration.

The command line must find a running daemon in a few milliseconds, so nothing here parses a file
or imports more than the standard library. `environ` is a parameter everywhere: no hidden look-ups.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Mapping
from pathlib import Path

from backends.presence import is_file

#: The name of our folder below every base folder.
FOLDER = "qmd-sidecar"
#: The file in which a running daemon says where it listens.
POINTER = "daemon.json"
SOCKET = "sidecar.sock"
#: The folder of the state in which a tour without notes writes its own.
SAMPLE_FOLDER = "sample-workspace"


class HomelessError(Exception):
    """There is no home folder: `HOME` is not set, and the user has no account, as in many containers."""


def home(environ: Mapping[str, str]) -> Path:
    """The user's home folder: `HOME`, else what the account says. Raises `HomelessError`."""
    named = Path(environ.get("HOME", ""))
    if named.is_absolute():
        return named
    # Not `Path.home`, to which an empty HOME is the root.
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError as error:
        raise HomelessError(f"HOME is not set, and user {os.getuid()} has no account with a home folder") from error


def _base(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    """An XDG base folder. The specification says that a relative value is to be ignored."""
    named = Path(environ.get(variable, ""))
    return named if named.is_absolute() else default


def runtime_dir(environ: Mapping[str, str]) -> Path | None:
    """Our folder below `XDG_RUNTIME_DIR`; None where there is no runtime folder (macOS, containers)."""
    named = Path(environ.get("XDG_RUNTIME_DIR", ""))
    return named / FOLDER if named.is_absolute() else None


def config_candidates(environ: Mapping[str, str]) -> list[Path]:
    """The files that may hold the configuration when none is named on the command line, best first."""
    named = [Path(environ[key]).expanduser() for key in ("SIDECAR_CONFIG", "OPENCLAW_CONFIG_PATH") if environ.get(key)]
    return [*named, own_config(environ), home(environ) / ".openclaw" / "openclaw.json"]


def own_config(environ: Mapping[str, str]) -> Path:
    """The configuration file that is ours alone."""
    return _base(environ, "XDG_CONFIG_HOME", home(environ) / ".config") / FOLDER / "config.json5"


def state_dir(environ: Mapping[str, str], *, config: Path | None = None) -> Path:
    """The state folder, unless the configuration names another: beside an `openclaw.json`, else the XDG one.

    `config` is the file named on the command line; without it the first candidate that exists counts.
    """
    named = environ.get("SIDECAR_STATE_DIR")
    if named:
        return Path(named).expanduser()
    used = config or next((path for path in config_candidates(environ) if is_file(path)), None)
    if used is not None and used.name == "openclaw.json":
        return used.absolute().parent / FOLDER
    return _base(environ, "XDG_STATE_HOME", home(environ) / ".local" / "state") / FOLDER


def run_dirs(environ: Mapping[str, str], state: Path) -> list[Path]:
    """The folders in which a daemon puts its socket and its pointer file, best first."""
    runtime = runtime_dir(environ)
    return [runtime, state / "run"] if runtime else [state / "run"]


def meeting_dir(environ: Mapping[str, str]) -> Path:
    """Where the daemons and clients of one user meet: our runtime folder, else one named after the user in /tmp."""
    return runtime_dir(environ) or Path(environ.get("TMPDIR") or "/tmp") / f"{FOLDER}-{os.getuid()}"  # noqa: S108


def is_ours(folder: Path) -> bool:
    """Whether a folder is one of this user's and no link: in /tmp anybody may have laid it."""
    try:
        info = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.getuid()


def socket_path(environ: Mapping[str, str], state: Path) -> Path:
    """The socket, unless a flag, the environment or the configuration names another."""
    named = environ.get("SIDECAR_SOCKET")
    return Path(named).expanduser() if named else run_dirs(environ, state)[0] / SOCKET
