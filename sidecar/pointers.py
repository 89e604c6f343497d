"""Pointer files: where clients of this user find the running daemon without any flag."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Mapping
from pathlib import Path

import orjson

import sidecar
from backends.files import write_atomically
from sidecar.places import POINTER
from sidecar.state import private_folder, runtime_folder

log = logging.getLogger(__name__)


class Pointers:
    """The files of one daemon: in the shared runtime folder, and in its own state folder."""

    def __init__(self) -> None:
        self._files: list[Path] = []
        self._content = b""

    def write(self, *, socket: Path, state_dir: Path, started_at: float, environ: Mapping[str, str]) -> None:
        """Tell clients where we are. Raises `StartupError` when a folder cannot be made.

        On a full disk, until `tend` finds room, they look for the socket where it is by default, or where a flag says.
        """
        self._content = orjson.dumps(
            {
                "pid": os.getpid(),
                "socket": str(socket),
                "stateDir": str(state_dir),
                "version": sidecar.__version__,
                "startedAt": started_at,
            }
        )
        self._files = [folder / POINTER for folder in {runtime_folder(environ), private_folder(state_dir / "run")}]
        for pointer in self._files:
            self._write(pointer)

    def tend(self) -> None:
        """Write those that are missing, whoever removed them. Raises `StartupError` like `write`."""
        for pointer in self._files:
            if _is_missing(pointer):
                private_folder(pointer.parent)
                self._write(pointer)

    def _write(self, pointer: Path) -> None:
        try:
            write_atomically(pointer, self._content)
        except OSError as error:
            log.warning("pointer not written", extra={"fields": {"file": str(pointer), "why": error.strerror}})

    def remove(self) -> None:
        """Remove what we wrote, unless another daemon of this user has written its own since."""
        for pointer in self._files:
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                if orjson.loads(pointer.read_bytes())["pid"] == os.getpid():
                    pointer.unlink()


def _is_missing(file: Path) -> bool:
    try:
        file.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        # Closed to us: it is there as far as anybody knows.
        return False
    return False
