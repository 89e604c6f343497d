"""Starting the daemon for a client that finds none."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sidecar.cli.exits import Exit, VerbError
from sidecar.client import Client, ClientError, NotRunningError
from sidecar.errors import StartupError
from sidecar.state import private_folder

#: Until the daemon can answer; an index may still be building then.
READY_S = 30.0
_PAUSE_S = 0.05
_MOST_CHARS = 500


@dataclass(frozen=True, slots=True)
class Starting:
    """A way to the daemon that runs `command` where nobody listens.

    The daemon outlives us: it has a session of its own, and writes its warnings to `started.log` in `folder`.
    """

    connect: Callable[[], Client]
    command: Sequence[str]
    folder: Path

    def __call__(self) -> Client:
        """A client of the daemon. Raises `VerbError` when it does not start, `ClientError` for any other reason."""
        with contextlib.suppress(NotRunningError):
            return self.connect()
        with self._alone():
            with contextlib.suppress(NotRunningError):
                return self.connect()
            return self._ready(self._spawned())

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One start at a time, among the servers of all clients: the second daemon of two would fail."""
        try:
            descriptor = os.open(private_folder(self.folder), os.O_RDONLY | os.O_CLOEXEC)
        except StartupError as error:
            raise VerbError(Exit.FAILURE, error.code, error.message, hint=error.hint) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    @property
    def _log(self) -> Path:
        return self.folder / "started.log"

    def _spawned(self) -> subprocess.Popen[bytes]:
        with os.fdopen(os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as log:
            return subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd=Path.home()
            )

    def _ready(self, daemon: subprocess.Popen[bytes]) -> Client:
        give_up_at = time.monotonic() + READY_S
        while time.monotonic() < give_up_at:
            with contextlib.suppress(ClientError):
                client = self.connect()
                client.call("GET", "/readyz")
                return client
            if daemon.poll() is not None:
                said = self._log.read_text(encoding="utf-8", errors="replace").strip()[-_MOST_CHARS:]
                raise VerbError(
                    Exit.FAILURE, "not_started", f"the daemon did not start\n{said}", hint="qmd-sidecar run"
                )
            time.sleep(_PAUSE_S)
        raise VerbError(Exit.TIMEOUT, "not_ready", f"no daemon is ready after {READY_S:g} s", hint="qmd-sidecar status")
