"""The state folder: private, and owned by one daemon at a time."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import orjson

from backends.presence import is_file
from sidecar.errors import StartupError
from sidecar.places import is_ours, meeting_dir

log = logging.getLogger(__name__)

_PATIENCE_S = 0.5
_PAUSE_S = 0.02


class StateLock:
    """`<stateDir>/sidecar.lock`, held with flock for the daemon's life. The content is for people only."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / "sidecar.lock"
        self._descriptor = -1

    def __enter__(self) -> Self:
        self._take()
        return self

    def _take(self) -> None:
        private_folder(self.path.parent)
        descriptor = self._opened()
        if not _taken(descriptor):
            holder = _holder(os.read(descriptor, 200))
            os.close(descriptor)
            raise StartupError(
                "already_running",
                f"another daemon owns {self.path.parent} ({holder})",
                hint="stop it with: qmd-sidecar stop, or choose another folder with --state-dir",
            )
        # A full disk stops nobody from searching.
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, orjson.dumps({"pid": os.getpid(), "startedAt": int(time.time())}))
        self._let_go()
        self._descriptor = descriptor

    def tend(self) -> bool:
        """Take the lock again where its file was removed, or exchanged as by a backup that is restored; whether it was.

        Raises `StartupError`: `already_running` when another daemon was quicker.
        """
        if self._is_in_place():
            return False
        log.warning("state folder removed or exchanged", extra={"fields": {"folder": str(self.path.parent)}})
        self._take()
        return True

    def _is_in_place(self) -> bool:
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self._descriptor))
        except FileNotFoundError:
            return False
        except OSError:
            # Closed to us for a while, such as a disk that does not answer: it is as it was.
            return True

    def _let_go(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def _opened(self) -> int:
        try:
            # Not through a link: what is written there would end somebody's file.
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise self._unusable(error.strerror or "unknown reason") from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise self._unusable("it is not a plain file")
        return descriptor

    def _unusable(self, why: str) -> StartupError:
        hint = "move it away, or choose another folder with --state-dir"
        return StartupError("state_folder_unusable", f"cannot use {self.path}: {why}", hint=hint)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._let_go()


def _taken(descriptor: int) -> bool:
    """Take the lock. Whoever only looks whether it is held holds it for a moment."""
    give_up_at = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > give_up_at:
                return False
            time.sleep(_PAUSE_S)
        else:
            return True


def holder_of(state_dir: Path) -> int | None:
    """The process that holds a state folder, as it wrote itself down: None for nobody, 0 where it wrote nothing."""
    lock = state_dir / "sidecar.lock"
    if not is_file(lock):
        return None
    try:
        with lock.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _pid_in(file.read(200))
    except OSError:
        return None
    return None


def _pid_in(content: bytes) -> int:
    try:
        return int(orjson.loads(content)["pid"])
    except (ValueError, TypeError, KeyError):
        return 0


def _holder(content: bytes) -> str:
    try:
        found = orjson.loads(content)
        started = time.strftime("%Y-%m-%d %H:%M", time.localtime(found["startedAt"]))
        return f"pid {found['pid']}, since {started}"
    except (ValueError, TypeError, KeyError):
        return "unknown holder"


def private_folder(path: Path) -> Path:
    """Make a folder that only we can enter. Raises `StartupError` when it cannot be made or written."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(13, "it cannot be written to")
    except OSError as error:
        why = "a file or a broken link is in the way" if isinstance(error, FileExistsError) else error.strerror
        raise StartupError(
            "state_folder_unusable",
            f"cannot use {path}: {why}",
            hint="choose another folder with --state-dir",
        ) from error
    return path


def runtime_folder(environ: Mapping[str, str]) -> Path:
    """Where this user's daemons meet: turn files and the pointer for clients. Private, and not a link."""
    folder = private_folder(meeting_dir(environ))
    if not is_ours(folder):
        raise StartupError(
            "runtime_folder_unusable", f"{folder} is not ours", hint="set XDG_RUNTIME_DIR to a private folder"
        )
    folder.chmod(0o700)
    return folder
