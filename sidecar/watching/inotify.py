"""The source of file events on Linux: one descriptor, one watch for each folder, every refusal of the kernel told.

`watchfiles`, which serves elsewhere, follows links out of a folder here, keeps silent when the kernel has no watches
left, and fails for ever at a name that is not UTF-8.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import os
import struct
from collections.abc import Collection, Iterator
from pathlib import Path

from sidecar.watching.file_events import ANYTHING, Change, OnChanges

_MODIFY, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x2, 0x8, 0x40, 0x80, 0x100, 0x200
_OVERFLOW, _IGNORED, _ONLY_FOLDERS, _IS_FOLDER = 0x4000, 0x8000, 0x01000000, 0x40000000
# Not the event for attributes: it comes for times of reading too.
_WANTED = _MODIFY | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _ONLY_FOLDERS
_EVENT = struct.Struct("iIII")
_READ_BYTES = 64 * 1024
#: What is normal for a folder that was there a moment ago.
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP)


class Inotify:
    """Watches folders, not what is below them, and tells `on_changes` on the running loop. Raises `OSError`."""

    def __init__(self, on_changes: OnChanges) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._on_changes = on_changes
        self._folders: dict[int, str] = {}
        self._descriptor = _checked(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        asyncio.get_running_loop().add_reader(self._descriptor, self._read)

    def watch(self, folders: Collection[str]) -> Collection[str]:
        """Watch exactly these folders from now on, and return those that were not watched before.

        Folders that are gone or closed to us are left out. May be called on any thread. Raises `OSError`, with `ENOSPC`
        where the kernel has no watches left.
        """
        before = set(self._folders)
        watched: dict[int, str] = {}
        for folder in folders:
            # The same folder again, wherever it is by now, has the same number.
            if (number := self._number(folder)) is not None:
                self._folders[number] = watched[number] = folder
        for number in before - watched.keys():
            # A folder that is gone took its watch along; one that was moved out did not.
            self._folders.pop(number, None)
            self._libc.inotify_rm_watch(self._descriptor, number)
        return [folder for number, folder in watched.items() if number not in before]

    def _number(self, folder: str) -> int | None:
        try:
            return _checked(self._libc.inotify_add_watch(self._descriptor, os.fsencode(folder), _WANTED))
        except OSError as error:
            if error.errno in _GONE:
                return None
            raise

    def _read(self) -> None:
        # No more at a time: what is left calls again, after others had their turn.
        with contextlib.suppress(BlockingIOError):
            if changes := set(self._changes(os.read(self._descriptor, _READ_BYTES))):
                self._on_changes(changes)

    def _changes(self, data: bytes) -> Iterator[Change]:
        at = 0
        while at < len(data):
            number, mask, _, length = _EVENT.unpack_from(data, at)
            name = data[at + _EVENT.size : at + _EVENT.size + length].rstrip(b"\0")
            at += _EVENT.size + length
            if mask & _OVERFLOW:
                yield ANYTHING
            elif mask & _IGNORED:
                self._folders.pop(number, None)
            elif folder := self._folders.get(number):
                yield Change(str(Path(folder) / os.fsdecode(name)), bool(mask & _IS_FOLDER))

    def close(self) -> None:
        """Give every watch back."""
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
