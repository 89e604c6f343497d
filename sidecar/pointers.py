"""Pointer files: where clients of this user find the running daemon without any flag."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

import orjson

import sidecar
from backends.files import write_atomically
from sidecar.places import POINTER
from sidecar.state import private_folder, runtime_folder


class Pointers:
    """The files of one daemon: in the shared runtime folder, and in its own state folder."""

    def __init__(self) -> None:
        self._files: list[Path] = []

    def write(self, *, socket: Path, state_dir: Path, started_at: float, environ: Mapping[str, str]) -> None:
        """Tell clients where we are. Raises `StartupError` when a folder cannot be made, `OSError` for a full disk."""
        content = orjson.dumps(
            {
                "pid": os.getpid(),
                "socket": str(socket),
                "stateDir": str(state_dir),
                "version": sidecar.__version__,
                "startedAt": started_at,
            }
        )
        for folder in {runtime_folder(environ), private_folder(state_dir / "run")}:
            pointer = folder / POINTER
            write_atomically(pointer, content)
            self._files.append(pointer)

    def remove(self) -> None:
        """Remove what we wrote, unless another daemon of this user has written its own since."""
        for pointer in self._files:
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                if orjson.loads(pointer.read_bytes())["pid"] == os.getpid():
                    pointer.unlink()
