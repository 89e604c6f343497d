"""What the service manager handed to the daemon when it started it."""

from __future__ import annotations

import socket as sockets
from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from typing import Self

from sidecar.config import Settings
from sidecar.service.activation import inherited, path_of
from sidecar.service.notify import Notifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Whom to tell, and the socket that listens already; without a manager nobody and none."""

    notifier: Notifier
    socket: sockets.socket | None

    @classmethod
    def taken_from(cls, environ: MutableMapping[str, str], *, pid: int) -> Self:
        """What is there for process `pid`. It is removed from `environ`. Raises `StartupError` for a wrong socket."""
        return cls(notifier=Notifier.taken_from(environ, pid=pid), socket=inherited(environ, pid=pid))

    def placed(self, settings: Settings) -> Settings:
        """The settings with the socket that was handed over: clients call where the manager listens."""
        return settings if self.socket is None else replace(settings, socket=path_of(self.socket))
