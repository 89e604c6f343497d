"""The socket: who may open it, who could replace it, and whether it is a dead one."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from sidecar.doctor.catalogue import Code, Finding
from sidecar.doctor.subject import Subject
from sidecar.gateway.listener import MAX_PATH_BYTES, answers

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def socket(subject: Subject) -> Iterator[Finding]:
    """What is wrong with the socket's path, its folder and its file."""
    path = subject.settings.socket
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        message = f"{path} has more than {MAX_PATH_BYTES} bytes"
        yield Code.SOCKET_PATH_LONG.found(message, path=f"/tmp/qmd-sidecar-{os.getuid()}/s.sock")  # noqa: S108
        return
    yield from _folder(path.parent)
    try:
        info = path.lstat()
    except OSError:
        return
    if not stat.S_ISSOCK(info.st_mode) or info.st_uid != os.getuid():
        yield Code.SOCKET_TAKEN.found(f"{path} is not a socket of ours", path=path)
    elif subject.live is None and not answers(path):
        yield Code.SOCKET_STALE.found(f"nobody listens at {path}", path=path, mend=lambda: _remove(path))
    elif stat.S_IMODE(info.st_mode) != subject.settings.sidecar.socket.mode:
        yield _open(path, stat.S_IMODE(info.st_mode), subject.settings.sidecar.socket.mode)


def _open(path: Path, mode: int, wanted: int) -> Finding:
    def close() -> str:
        path.chmod(wanted)
        return f"gave {path} the mode {wanted:04o}"

    return Code.SOCKET_OPEN.found(
        f"{path} has the mode {mode:04o} and not {wanted:04o}", path=path, mode=f"{wanted:04o}", mend=close
    )


def _folder(folder: Path) -> Iterator[Finding]:
    try:
        mode = folder.stat().st_mode
    except OSError:
        return
    # In a folder like /tmp others may write, and remove only what is theirs.
    if mode & _WRITABLE_BY_OTHERS and not mode & stat.S_ISVTX:
        yield Code.SOCKET_FOLDER_OPEN.found(f"others may write into {folder}", path=folder)


def _remove(path: Path) -> str:
    if answers(path):
        return ""
    path.unlink(missing_ok=True)
    return f"removed {path}"
