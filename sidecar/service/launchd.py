"""launchd: one property list, an agent of the user or with `system` a daemon of the machine."""

from __future__ import annotations

import plistlib
import re
from collections.abc import Mapping
from pathlib import Path

from sidecar import places
from sidecar.service.files import PROPERTY_LIST, shipped
from sidecar.service.invocation import Invocation
from sidecar.service.managing import Ran, ServiceError, State, missing, run

LABEL = "ai.qmd-sidecar"
SYSTEM_LISTS = Path("/Library/LaunchDaemons")


class Launchd:
    """The service in the session of user id `uid`, or as `user` in the system's domain."""

    name = "launchd"

    def __init__(self, environ: Mapping[str, str], *, user: str, uid: int, system: bool) -> None:
        self._environ = environ
        self._user = user
        self._system = system
        self._home = places.home(environ)
        self._domain = "system" if system else f"gui/{uid}"
        self._list = (SYSTEM_LISTS if system else self._home / "Library" / "LaunchAgents") / f"{LABEL}.plist"
        self._log = self._home / "Library" / "Logs" / "qmd-sidecar.log"
        self.service = f"{self._domain}/{LABEL}"

    def reach(self) -> None:
        """See whether the domain is there: over ssh without a session there is none of a user."""
        asked = self._launchctl("print", self._domain)
        if asked.code:
            raise missing(asked.complaint or f"launchd has no domain {self._domain}")

    def files(self, invocation: Invocation) -> dict[Path, bytes]:
        """The property list with the command, the environment and the log filled in."""
        content = plistlib.loads(shipped(PROPERTY_LIST))
        content |= {
            "ProgramArguments": list(invocation.argv),
            "EnvironmentVariables": {**invocation.environment, "HOME": str(self._home)},
            "WorkingDirectory": str(self._home),
            "StandardErrorPath": str(self._log),
            "StandardOutPath": str(self._log),
            **({"UserName": self._user} if self._system else {}),
        }
        try:
            return {self._list: plistlib.dumps(content)}
        except ValueError:
            # Control characters, or bytes that are no text.
            raise ServiceError(
                "list_unwritable", "no property list can hold one of the paths", hint="use paths of plain characters"
            ) from None

    def written(self) -> list[Path]:
        """The property list, if it is there."""
        return [self._list] if self._list.exists() else []

    def enable(self, invocation: Invocation, *, changed: bool) -> None:
        """Have the list read; what runs from an older one is taken out first."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        if changed and self.state().installed:
            self._do("bootout", self.service)
        self._do("enable", self.service)
        self.start()

    def disable(self) -> None:
        """Take the service out of its domain, which ends it."""
        if self.state().installed:
            self._do("bootout", self.service)

    def forget(self) -> None:
        """Nothing to do: launchd knows what is loaded, not what is in the folder."""

    def start(self) -> None:
        """Load the list if it is not, else start what is loaded."""
        if self.state().installed:
            self._do("kickstart", self.service)
        else:
            self._do("bootstrap", self._domain, str(self._list))

    def stop(self) -> None:
        """Ask the daemon to end: exit 0 is no reason to start it again before the next login."""
        if self.state().running:
            self._do("kill", "SIGTERM", self.service)

    def restart(self) -> None:
        """End what runs, and start."""
        if self.state().installed:
            self._do("kickstart", "-k", self.service)
        else:
            self.start()

    def state(self) -> State:
        """What `launchctl print` says; Apple calls its form no interface, so little is read from it."""
        asked = self._launchctl("print", self.service)
        found = dict(re.findall(r"^\t(state|pid) = (.+)$", asked.out, re.MULTILINE))
        pid = found.get("pid", "")
        return State(
            installed=asked.code == 0,
            running=pid.isdigit(),
            word=found.get("state", "loaded") if asked.code == 0 else "not loaded",
            pid=int(pid) if pid.isdigit() else None,
        )

    def logs(self) -> str:
        """The file that the daemon's output goes to."""
        return f"tail -f '{self._log}'"

    def advice(self) -> str:
        """An agent of a user lives as long as the session."""
        return "" if self._system else "it runs while you are logged in; --system runs it from boot on"

    def _do(self, *words: str) -> None:
        asked = self._launchctl(*words)
        if asked.code:
            why = asked.complaint or f"exit {asked.code}"
            raise ServiceError("service_failed", f"launchctl {words[0]}: {why}", hint=f"launchctl print {self.service}")

    def _launchctl(self, *words: str) -> Ran:
        return run(["launchctl", *words], self._environ)
