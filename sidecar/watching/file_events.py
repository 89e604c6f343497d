"""What a source of file events tells, and the source for systems without inotify."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from backends.presence import is_folder

_STEP_MS = 50
_WAIT_MS = 1_000


class Change(NamedTuple):
    """Something that was written, made, moved or removed, by its real path; an empty path is "anything anywhere"."""

    path: str
    is_folder: bool


ANYTHING = Change("", is_folder=True)
OnChanges: TypeAlias = Callable[[Collection[Change]], None]


class Source(Protocol):
    """Watches folders, not what is below them. Made on a running loop, which it calls back on."""

    def watch(self, folders: Collection[str]) -> Collection[str]:
        """Watch exactly these folders from now on, and return those that were not watched before.

        Folders that are gone or closed to us are left out. May be called on any thread. Raises `OSError` where the
        system refuses.
        """
        ...

    def close(self) -> None:
        """Give every watch back."""
        ...


class PortableEvents:
    """The source that `watchfiles` makes of whatever a system has."""

    def __init__(self, on_changes: OnChanges) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_changes = on_changes
        self._stop = threading.Event()
        self._folders: frozenset[str] = frozenset()

    def watch(self, folders: Collection[str]) -> Collection[str]:
        """Watch exactly these folders, and return those that are new by name. Raises `OSError`."""
        present = frozenset(folder for folder in folders if is_folder(Path(folder)))
        try:
            watches = RustNotify(list(present), False, False, 0, False, True)
        except WatchfilesRustInternalError as error:
            raise OSError(errno.ENOSPC, str(error)) from error
        self._stop.set()
        self._stop = threading.Event()
        threading.Thread(target=self._follow, args=(watches, self._stop), name="file-events", daemon=True).start()
        new, self._folders = present - self._folders, present
        return new

    def _follow(self, watches: RustNotify, stop: threading.Event) -> None:
        # `watches` never hears of the end: it would throw away what it gathered.
        while not stop.is_set():
            try:
                told = watches.watch(_STEP_MS * 4, _STEP_MS, _WAIT_MS, None)
            except WatchfilesRustInternalError:
                # A name that it cannot read ends it for good: others are made, and what was missed is looked for.
                self._tell({ANYTHING})
                return
            if isinstance(told, set):
                self._tell({Change(path, _may_be_folder(path)) for _, path in told})

    def _tell(self, changes: Collection[Change]) -> None:
        # The loop may end before this thread does.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._on_changes, changes)

    def close(self) -> None:
        """Give every watch back; the thread ends by itself."""
        self._stop.set()


def _may_be_folder(path: str) -> bool:
    """What is gone may have been a folder, unless it was called like a file."""
    return is_folder(Path(path)) or (not os.path.lexists(path) and "." not in Path(path).name)
