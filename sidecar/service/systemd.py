"""systemd: the shipped units as they are, and what is particular to a machine in a drop-in beside them."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from sidecar import places
from sidecar.service.files import SOCKET_UNIT, SYSTEM_UNIT, USER_UNIT, shipped
from sidecar.service.invocation import Invocation
from sidecar.service.managing import Ran, ServiceError, State, missing, run

SYSTEM_UNITS = Path("/etc/systemd/system")
DROP_IN = "10-install.conf"
_SOCKET = "qmd-sidecar.socket"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HEADER = "# Written by `qmd-sidecar service install`, anew each time. What is yours belongs into: systemctl {edit}\n"


class Systemd:
    """The manager of `user`, or with `system` the machine's, which runs the daemon of that user without a login."""

    name = "systemd"

    def __init__(self, environ: Mapping[str, str], *, user: str, system: bool, units: Path | None = None) -> None:
        if system and not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", user):
            raise ServiceError("user_unusable", f"no unit can be named after {user!r}", hint="name another with --user")
        self._environ = environ
        self._user = user
        self._scope = [] if system else ["--user"]
        self._unit_file = Path(SYSTEM_UNIT if system else USER_UNIT)
        self._units = units or (SYSTEM_UNITS if system else _user_units(environ))
        self.service = f"qmd-sidecar@{user}.service" if system else "qmd-sidecar.service"

    def reach(self) -> None:
        """See whether the manager answers: a container has none, and `su` gives no way to the user's."""
        asked = self._systemctl("show", "--property=Version")
        if asked.code:
            raise missing(asked.complaint or "systemd does not answer")

    def files(self, invocation: Invocation) -> dict[Path, bytes]:
        """The unit, for a user also its socket, and the drop-in."""
        units = [str(self._unit_file)] if not self._scope else [USER_UNIT, SOCKET_UNIT]
        drop_in = _HEADER.format(edit=" ".join((*self._scope, "edit", self.service))) + drop_in_of(
            invocation, confined=not self._scope
        )
        return {self._units / Path(unit).name: shipped(unit) for unit in units} | {self._drop_in: drop_in.encode()}

    @property
    def _drop_in(self) -> Path:
        return self._units / f"{self.service}.d" / DROP_IN

    def written(self) -> list[Path]:
        """The files that are there; a template stays as long as another user's daemon is made from it."""
        others = [path for path in self._units.glob(f"qmd-sidecar@*.service.d/{DROP_IN}") if path != self._drop_in]
        units = [self._unit_file.name] if not (self._scope or others) else []
        mine = [USER_UNIT, SOCKET_UNIT] if self._scope else units
        paths = [self._drop_in, *(self._units / Path(unit).name for unit in mine)]
        return [path for path in paths if path.exists()]

    def enable(self, invocation: Invocation, *, changed: bool) -> None:
        """Have it read, enabled and running; changed files take effect at once."""
        if not self._scope:
            self._make(invocation.writes)
        self._do("daemon-reload")
        self._do("enable", self.service)
        if changed and self.state().running:
            self.restart()
        else:
            self.start()

    def disable(self) -> None:
        """Stop, and take it out of what is started."""
        for unit in self._ours():
            asked = self._systemctl("disable", "--now", unit)
            if asked.code and self._loaded(unit):
                raise self._refused(asked)

    def forget(self) -> None:
        """Have it notice that the files are gone, and leave no empty folder; what a person wrote there stays."""
        with contextlib.suppress(OSError):
            self._drop_in.parent.rmdir()
        self._do("daemon-reload")

    def start(self) -> None:
        """Start. Starts that failed before count no more."""
        self._systemctl("reset-failed", self.service)
        self._do("start", self.service)

    def stop(self) -> None:
        """Stop, with the socket: it would start the daemon again at the next call."""
        for unit in self._ours():
            asked = self._systemctl("stop", unit)
            if asked.code and self._loaded(unit):
                raise self._refused(asked)

    def restart(self) -> None:
        """Stop and start."""
        self._systemctl("reset-failed", self.service)
        self._do("restart", self.service)

    def state(self) -> State:
        """What `systemctl show` says."""
        shown = self._shown(self.service)
        pid = shown.get("MainPID", "0")
        # The process decides: a unit that fails and waits for its next start is "activating", too.
        running = pid.isdigit() and pid != "0"
        return State(
            installed=shown.get("LoadState") not in (None, "not-found"),
            running=running,
            word=f"{shown.get('ActiveState', 'unknown')} ({shown.get('SubState', 'unknown')})",
            pid=int(pid) if running else None,
        )

    def logs(self) -> str:
        """The journal of the unit."""
        return " ".join(("journalctl", *self._scope, "-u", self.service, "-f"))

    def advice(self) -> str:
        """Without lingering a user's services end with the last login."""
        if not self._scope:
            return ""
        asked = run(["loginctl", "show-user", self._user, "--property=Linger", "--value"], self._environ)
        if asked.out.strip() == "yes":
            return ""
        return f"it ends when you log out; to keep it: loginctl enable-linger {self._user}"

    def _make(self, folders: Sequence[Path]) -> None:
        """Make, as the user, what must be there to be writable: root itself would follow the user's links."""
        made = run(
            ["runuser", "-u", self._user, "--", "mkdir", "-p", "-m", "700", "--", *map(str, folders)], self._environ
        )
        if made.code:
            raise ServiceError("folders_unusable", f"for {self._user}: {made.complaint}", hint="correct --state-dir")

    def _ours(self) -> list[str]:
        return [_SOCKET, self.service] if self._scope else [self.service]

    def _loaded(self, unit: str) -> bool:
        return self._shown(unit).get("LoadState") not in (None, "not-found")

    def _shown(self, unit: str) -> dict[str, str]:
        asked = self._systemctl("show", unit, "--property=LoadState,ActiveState,SubState,MainPID")
        return dict(line.split("=", 1) for line in asked.out.splitlines() if "=" in line)

    def _do(self, *words: str) -> None:
        asked = self._systemctl(*words)
        if asked.code:
            raise self._refused(asked)

    def _refused(self, asked: Ran) -> ServiceError:
        why = asked.complaint or f"exit {asked.code}"
        return ServiceError("service_failed", f"systemctl: {why}", hint=self.logs().replace(" -f", " -n 20"))

    def _systemctl(self, *words: str) -> Ran:
        return run(["systemctl", *self._scope, "--no-pager", "--no-ask-password", *words], self._environ)


def drop_in_of(invocation: Invocation, *, confined: bool) -> str:
    """The drop-in's text; `confined` names the folders that stay writable. Raises `ServiceError`."""
    first, *rest = invocation.argv
    if re.search(r"""["'\\]""", first):
        # systemd takes them in arguments alone.
        raise _unwritable(first)
    lines = [
        "[Service]",
        *(f"Environment={quoted(f'{name}={value}')}" for name, value in invocation.environment.items()),
        "ExecStart=",
        # The colon: nothing in the line is a variable.
        "ExecStart=" + " ".join((quoted(f":{first}"), *map(quoted, rest))),
    ]
    if confined:
        lines += ["ReadWritePaths=", *(f"ReadWritePaths={quoted(f'-{folder}')}" for folder in invocation.writes)]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """One word of a unit file, whatever is in it; a percent sign would be a specifier. Raises `ServiceError`."""
    if _CONTROL.search(text) or os.fsencode(text).decode("utf-8", errors="replace") != text:
        raise _unwritable(text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _unwritable(text: str) -> ServiceError:
    return ServiceError("unit_unwritable", f"no unit file can hold {text!r}", hint="use a path of plain characters")


def _user_units(environ: Mapping[str, str]) -> Path:
    named = Path(environ.get("XDG_CONFIG_HOME", ""))
    return (named if named.is_absolute() else places.home(environ) / ".config") / "systemd" / "user"
