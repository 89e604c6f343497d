"""What every service manager can do for us, and the one place where their commands are run."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sidecar.service.invocation import Invocation

#: A start waits until the daemon is ready, and that may wait for a first sync.
COMMAND_TIMEOUT_S = 600.0


class ServiceError(Exception):
    """Something about the service did not work: a stable `code`, a message, the next step."""

    def __init__(self, code: str, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a command ended: its exit code, standard output, and the first line that it complained with."""

    code: int
    out: str
    complaint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How the service is. `word` is the manager's own; `pid` is of the daemon, None when it does not run."""

    installed: bool
    running: bool
    word: str
    pid: int | None = None


class Manager(Protocol):
    """A service manager and our one service in it. Every method may raise `ServiceError`."""

    name: str
    service: str

    def reach(self) -> None:
        """Raise `manager_missing` unless the manager runs and listens to us."""

    def files(self, invocation: Invocation) -> dict[Path, bytes]:
        """What the manager has to read, by place. Nothing is written."""

    def written(self) -> list[Path]:
        """The files of ours that are there."""

    def enable(self, invocation: Invocation, *, changed: bool) -> None:
        """Have the daemon run from now on and after each boot or login; `changed` files are read again."""

    def disable(self) -> None:
        """Stop the daemon, and start it no more. What is absent is no error."""

    def forget(self) -> None:
        """Notice that the files are gone."""

    def start(self) -> None:
        """Start the daemon, unless it runs."""

    def stop(self) -> None:
        """Stop the daemon until the next boot or login. What is absent is no error."""

    def restart(self) -> None:
        """Stop and start the daemon."""

    def state(self) -> State:
        """How the service is."""

    def logs(self) -> str:
        """The command that shows the daemon's log."""

    def advice(self) -> str:
        """What a person should know about when the daemon runs; empty for nothing."""


def run(argv: Sequence[str], environ: Mapping[str, str]) -> Ran:
    """Run one command of a manager. Raises `ServiceError` when it is not there or does not end."""
    try:
        done = subprocess.run(
            argv,
            env={**environ, "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError:
        raise missing(f"{argv[0]} is not here") from None
    except subprocess.TimeoutExpired:
        raise ServiceError(
            "manager_silent", f"{argv[0]} did not end within {COMMAND_TIMEOUT_S:.0f} s", hint="qmd-sidecar status"
        ) from None
    complaints = done.stderr.strip().splitlines()
    return Ran(code=done.returncode, out=done.stdout, complaint=complaints[0] if complaints else "")


def missing(why: str) -> ServiceError:
    """No manager can be reached from here."""
    return ServiceError(
        "manager_missing",
        f"no service manager runs the daemon here: {why}",
        hint="run it yourself with qmd-sidecar run, or see the files with qmd-sidecar service install --print",
    )


def install(manager: Manager, invocation: Invocation) -> bool:
    """Write the files and have the daemon run; returns whether a file had to be written. Safe to repeat."""
    manager.reach()
    wanted = {path: content for path, content in manager.files(invocation).items() if _content(path) != content}
    for path, content in wanted.items():
        _write(path, content)
    manager.enable(invocation, changed=bool(wanted))
    return bool(wanted)


def uninstall(manager: Manager) -> list[Path]:
    """Stop the daemon and remove the files; returns which. The state folder stays. Safe to repeat."""
    manager.reach()
    written = manager.written()
    manager.disable()
    for path in written:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise _unwritable(path, error) from error
    manager.forget()
    return written


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _write(path: Path, content: bytes) -> None:
    fresh = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_bytes(content)
        # The manager reads it, whatever mask this shell has; nothing in it is a secret.
        fresh.chmod(0o644)
        fresh.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> ServiceError:
    hint = "run it with sudo" if isinstance(error, PermissionError) else f"look at {path.parent}"
    return ServiceError("files_unwritable", f"cannot change {path}: {error.strerror}", hint=hint)
