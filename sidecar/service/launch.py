"""What the service manager handed to the daemon when it started it."""

from __future__ import annotations

import socket as sockets
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sidecar.service import folders
from sidecar.service.activation import inherited, path_of
from sidecar.service.notify import Notifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Whom to tell, and the socket that listens already; without a manager nobody and none."""

    notifier: Notifier
    socket: sockets.socket | None

    @classmethod
    def taken_from(cls, environ: MutableMapping[str, str], *, pid: int) -> Self:
        """What is there for process `pid`, removed from `environ`; the folders of its unit become base folders there.

        Raises `StartupError` for a socket that cannot be used.
        """
        folders.adopt(environ, pid=pid)
        return cls(notifier=Notifier.taken_from(environ, pid=pid), socket=inherited(environ, pid=pid))

    @property
    def path(self) -> Path | None:
        """Where the socket listens: clients are led there, whatever was configured."""
        return path_of(self.socket) if self.socket else None
