"""The Unix socket: bound by us, owner-only from its first moment, and never taken from a living daemon."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import sys
from pathlib import Path

from sidecar.errors import StartupError
from sidecar.state import private_folder

#: `sun_path` with its terminating NUL.
MAX_PATH_BYTES = 103 if sys.platform == "darwin" else 107
BACKLOG = 512
PROBE_TIMEOUT_S = 2.0


class Listener:
    """A listening socket and the file that names it; `ours` says whether we made the file and remove it."""

    def __init__(self, sock: socket.socket, path: Path, *, ours: bool = True) -> None:
        self.sock = sock
        self.path = path
        self._ours = ours
        self._identity = _identity(path)

    @property
    def in_place(self) -> bool:
        """Whether the file is still the one that names this socket."""
        return self._identity is not None and _identity(self.path) == self._identity

    def close(self) -> None:
        """Close, and remove the file unless it is somebody else's from the start or by now."""
        self.sock.close()
        if self._ours and self.in_place:
            self.path.unlink(missing_ok=True)


def listen(path: Path, *, mode: int = 0o600, group: str | None = None) -> Listener:
    """Bind and listen. Raises `StartupError` when the path is too long, taken or not ours to take."""
    check_length(path)
    # Private when we make it; a folder that is there, such as /tmp, belongs to somebody else.
    private_folder(path.parent)
    _clear_stale(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The mask makes the file owner-only at birth; a chmod afterwards would leave a moment in between.
    mask = os.umask(0o177)
    try:
        sock.bind(str(path))
    except OSError as error:
        sock.close()
        raise _unusable(path, error.strerror or "unknown reason") from error
    finally:
        os.umask(mask)
    listener = Listener(sock, path)
    try:
        if group is not None:
            shutil.chown(path, group=group)
        path.chmod(mode)
        sock.listen(BACKLOG)
    except (OSError, LookupError) as error:
        listener.close()
        raise _unusable(path, str(error)) from error
    sock.setblocking(False)
    return listener


def _unusable(path: Path, why: str) -> StartupError:
    hint = "choose another path with --socket, or correct sidecar.socket"
    return StartupError("socket_unusable", f"cannot listen on {path}: {why}", hint=hint)


def check_length(path: Path) -> None:
    """Refuse a path that the kernel cannot hold, before anything is created."""
    length = len(os.fsencode(path))
    if length > MAX_PATH_BYTES:
        raise StartupError(
            "socket_path_too_long",
            f"the socket path has {length} bytes; {MAX_PATH_BYTES} is the most: {path}",
            hint="choose a shorter one with --socket, SIDECAR_SOCKET or sidecar.socket.path",
            exit_code=78,
        )


def _clear_stale(path: Path) -> None:
    try:
        info = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(info.st_mode) or info.st_uid != os.getuid():
        raise StartupError(
            "socket_path_taken",
            f"{path} exists and is not a socket of ours",
            hint="move it away, or choose another path",
        )
    if answers(path):
        raise StartupError(
            "already_running", f"another daemon answers on {path}", hint="stop it with: qmd-sidecar stop"
        )
    path.unlink()


def answers(path: Path) -> bool:
    """Whether somebody listens at a socket, as far as can be told."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_TIMEOUT_S)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
        return True


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        info = path.lstat()
    except OSError:
        return None
    return info.st_dev, info.st_ino
