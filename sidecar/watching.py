"""One watch over the memory folders of all agents: who wrote what, told at once and never twice.

Folders are watched, not files, so that 20,000 notes cost few descriptors. Where the kernel has no watches left, or
the disk sends no events, the folders are looked at in intervals instead. A root that is missing is looked for again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from watchfiles import awatch
from watchfiles._rust_notify import WatchfilesRustInternalError

from backends.corpus import Corpus, Root, is_literal

log = logging.getLogger(__name__)

#: Events that come within this time are told together; short, so that a search at once knows what is pending.
GATHER_MS = 100
#: How often missing roots are looked for.
LOOK_AGAIN_MS = 5_000
#: How often folders are looked at where the kernel tells nothing.
POLL_MS = 2_000

OnChange = Callable[[str, frozenset[str]], None]


class Folder(NamedTuple):
    """A folder as the kernel knows it: one that was replaced at the same path is another one."""

    path: Path
    device: int
    inode: int


@dataclass(frozen=True, slots=True)
class Folders:
    """What to watch: whole trees, and folders of which only the direct content matters."""

    trees: frozenset[Folder]
    flat: frozenset[Folder]


def folders_of(corpora: Iterable[Corpus]) -> Folders:
    """The folders that exist now. A root that names single files needs no more than its folder."""
    found = [(root, folder) for corpus in corpora for root in corpus.roots if (folder := _folder(root.path))]
    trees = frozenset(folder for root, folder in found if not _names_files(root))
    return Folders(trees, frozenset(folder for _, folder in found) - trees)


def _folder(path: Path) -> Folder | None:
    try:
        real = _real(path)
        info = real.stat()
    except OSError:
        return None
    return Folder(real, info.st_dev, info.st_ino) if stat.S_ISDIR(info.st_mode) else None


class Watching:
    """Tells `on_change(agent id, shown paths)` what was written, made or removed in the agents' roots."""

    def __init__(self, corpora: Mapping[str, Corpus], on_change: OnChange) -> None:
        self._corpora = corpora
        self._on_change = on_change
        self._poll = False

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            folders = folders_of(self._corpora.values())
            stop = asyncio.Event()
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._follow(folders.trees, recursive=True, stop=stop))
                    group.create_task(self._follow(folders.flat, recursive=False, stop=stop))
                    group.create_task(self._until_moved(folders, stop))
            except* (OSError, WatchfilesRustInternalError) as errors:
                self._fall_back(errors.exceptions[0])
                await asyncio.sleep(POLL_MS / 1000)

    def _fall_back(self, error: BaseException) -> None:
        """A folder that went between look and watch is looked for again; anything else means no events here."""
        if isinstance(error, FileNotFoundError) or self._poll:
            return
        log.warning("no file events; folders are polled", extra={"fields": {"reason": type(error).__name__}})
        self._poll = True

    async def _until_moved(self, folders: Folders, stop: asyncio.Event) -> None:
        """Look for roots that came or went; then the watches are laid anew."""
        while folders_of(self._corpora.values()) == folders:  # noqa: ASYNC110 - the disk has no event for this
            await asyncio.sleep(LOOK_AGAIN_MS / 1000)
        stop.set()
        # What was written before the new watch lies is nobody's event.
        for agent_id in self._corpora:
            self._on_change(agent_id, frozenset())

    async def _follow(self, folders: frozenset[Folder], *, recursive: bool, stop: asyncio.Event) -> None:
        if not folders:
            return
        async for paths in self._events(folders, recursive=recursive, stop=stop):
            for agent_id, shown in changed(self._corpora, paths).items():
                self._on_change(agent_id, shown)

    async def _events(
        self, folders: frozenset[Folder], *, recursive: bool, stop: asyncio.Event
    ) -> AsyncIterator[frozenset[str]]:
        watch = awatch(
            *(folder.path for folder in folders),
            watch_filter=None,
            debounce=GATHER_MS * 4,
            step=GATHER_MS,
            stop_event=stop,
            rust_timeout=LOOK_AGAIN_MS,
            recursive=recursive,
            force_polling=self._poll,
            poll_delay_ms=POLL_MS,
            ignore_permission_denied=True,
        )
        async with contextlib.aclosing(watch):
            async for changes in watch:
                yield frozenset(path for _, path in changes)


def changed(corpora: Mapping[str, Corpus], paths: Iterable[str]) -> dict[str, frozenset[str]]:
    """The shown paths by agent among real paths that changed; what no root holds is nobody's."""
    told = list(paths)
    found = {agent_id: frozenset(_shown(corpus, told)) for agent_id, corpus in corpora.items()}
    return {agent_id: shown for agent_id, shown in found.items() if shown}


def _shown(corpus: Corpus, paths: list[str]) -> Iterable[str]:
    for root in corpus.roots:
        base = f"{_real(root.path)}{os.sep}"
        for path in paths:
            relative = path.removeprefix(base)
            if relative != path and (root.holds(relative) or _is_folder_of(root, relative)):
                yield root.shown + relative


def _is_folder_of(root: Root, relative: str) -> bool:
    """Whether a whole folder came or went: the notes in it send no events of their own."""
    return "." not in relative.rpartition("/")[2] and not _names_files(root)


def _names_files(root: Root) -> bool:
    return all(is_literal(pattern) for pattern in root.patterns)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
