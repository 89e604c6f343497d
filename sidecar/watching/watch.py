"""One watch over the memory folders of all agents: who wrote what, told at once, and no change passed by.

Folders are watched, not files, so that 20,000 notes cost few watches; hidden folders, build folders and what links
lead to are not. A folder or a root that comes later is watched from then on, and told, since what was written into it
before has no event. Where the kernel refuses, the files are looked at in intervals until it no longer does.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from backends.base import Notice
from backends.corpus import Corpus, Found, Root
from backends.presence import is_folder
from sidecar.watching.file_events import ANYTHING, Change, OnChanges, PortableEvents, Source
from sidecar.watching.inotify import Inotify
from sidecar.watching.mounts import silent_devices

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Events that come within this time are told together; short, so that a search at once knows what is pending.
GATHER_MS = 50
#: How often roots are looked for that came or went without an event, such as mounted disks.
LOOK_AGAIN_MS = 5_000
#: How often files are looked at where the kernel tells nothing; looking takes at most one part in `POLL_SHARE` of it.
POLL_MS = 2_000
POLL_SHARE = 20
#: How often the kernel is asked again then.
RETRY_MS = 60_000

OnChange: TypeAlias = Callable[[str, frozenset[str]], None]
OnNotice: TypeAlias = Callable[[Notice | None], None]
Seen: TypeAlias = dict[str, tuple[int, int]]


class Place(NamedTuple):
    """A root of an agent: its real path, and where it stands itself, which differs for a link."""

    agent_id: str
    root: Root
    base: str
    spot: str


class State(NamedTuple):
    """What stands at a root: one that was replaced by another is another one. `files` are those of a silent disk."""

    device: int
    inode: int
    files: frozenset[Found] | None


@dataclass(frozen=True, slots=True)
class Layout:
    """Where all roots are, and the folders in which something can happen to their files or to themselves."""

    places: tuple[Place, ...]
    folders: Mapping[str, tuple[Place, ...]]

    @classmethod
    def of(cls, corpora: Mapping[str, Corpus]) -> Layout:
        """The layout that the disk has at this moment."""
        places = places_of(corpora)
        folders: dict[str, tuple[Place, ...]] = {}
        for place in places:
            for folder in {_above(place.base), _above(place.spot), *_inside(place)}:
                folders[folder] = (*folders.get(folder, ()), place)
        return cls(places, folders)

    def changed(self, changes: Iterable[Change]) -> dict[str, frozenset[str]]:
        """The shown paths by agent among what changed; what no root holds is nobody's."""
        told: dict[str, set[str]] = {}
        for change in changes:
            for place in self.folders.get(_parent(change.path), self.places):
                if (shown := _shown(place, change)) is not None:
                    told.setdefault(place.agent_id, set()).add(shown)
        return {agent_id: frozenset(shown) for agent_id, shown in told.items()}

    def is_moved_by(self, changes: Iterable[Change]) -> bool:
        """Whether folders of interest came or went among what changed, or a link that is a root."""
        spots = {place.spot for place in self.places}
        return bool(self.changed(change for change in changes if change.is_folder or change.path in spots))


def places_of(corpora: Mapping[str, Corpus]) -> tuple[Place, ...]:
    """Every root of every agent. Looks at the disk."""
    return tuple(_place(agent_id, root) for agent_id, corpus in corpora.items() for root in corpus.roots)


def _place(agent_id: str, root: Root) -> Place:
    spot = Path(os.path.realpath(root.path.parent)) / root.path.name
    return Place(agent_id, root, os.path.realpath(root.path), str(spot))


def _inside(place: Place) -> Iterator[str]:
    return (f"{place.base}/{folder}" if folder else place.base for folder in place.root.folders())


def _above(path: str) -> str:
    """The nearest folder above that exists: there a root comes and goes."""
    above = Path(path).parent
    while not is_folder(above) and above != above.parent:
        above = above.parent
    return str(above)


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def _shown(place: Place, change: Change) -> str | None:
    if change == ANYTHING or _is_or_holds(place, change):
        return place.root.shown or place.root.name
    relative = change.path.removeprefix(f"{place.base}/")
    if relative == change.path:
        return None
    # The notes in a folder that was moved send no events of their own.
    held = place.root.reaches(relative) if change.is_folder else place.root.holds(relative)
    return place.root.shown + relative if held else None


def _is_or_holds(place: Place, change: Change) -> bool:
    """Whether a root itself came or went: as a folder, as a link, or with a folder above."""
    return change.path == place.spot or (
        change.is_folder and any(f"{path}/".startswith(f"{change.path}/") for path in (place.base, place.spot))
    )


class Watching:
    """Tells `on_change(agent id, shown paths)` what was written, made or removed in the agents' roots.

    `on_notice` hears why files are polled, and None when they no longer are. `source` makes the source of events.
    """

    def __init__(
        self,
        corpora: Mapping[str, Corpus],
        on_change: OnChange,
        on_notice: OnNotice = lambda notice: None,
        *,
        source: Callable[[OnChanges], Source] = Inotify if sys.platform == "linux" else PortableEvents,
    ) -> None:
        self._corpora = corpora
        self._source = source
        self._on_change = on_change
        self._on_notice = on_notice
        #: Set once no change can pass by any more.
        self.laid = asyncio.Event()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="watcher")
        self._layout = Layout((), {})
        self._gathered: set[Change] = set()
        self._telling: asyncio.TimerHandle | None = None
        self._moved = asyncio.Event()
        self._notice: Notice | None = None

    @property
    def notice(self) -> Notice | None:
        """Why files are polled, as `on_notice` heard it last; None when they are not."""
        return self._notice

    async def run(self) -> None:
        """Watch until cancelled."""
        try:
            source = await self._open()
            while True:
                if source is None:
                    source = await self._poll()
                else:
                    await self._follow(source)
                    source = None
        finally:
            if self._telling is not None:
                self._telling.cancel()
            self._pool.shutdown(wait=False, cancel_futures=True)

    async def _open(self) -> Source | None:
        """A source that watches every folder there is; None where the kernel refuses."""
        source: Source | None = None
        try:
            source = self._source(self._note)
            await self._lay(source)
        except BaseException as error:
            if source is not None:
                source.close()
            if not isinstance(error, OSError):
                raise
            self._refused(error)
            return None
        return source

    async def _lay(self, source: Source) -> Collection[str]:
        """Watch the folders that exist now; returns those that were not watched before."""
        # Before looking: what comes while looking is looked for again.
        self._moved.clear()
        self._layout = await self._aside(lambda: Layout.of(self._corpora))
        return await self._aside(lambda: source.watch(self._layout.folders.keys()))

    async def _follow(self, source: Source) -> None:
        """Watch what comes and goes, until the kernel refuses."""
        try:
            states, _ = await self._states()
            self.laid.set()
            while True:
                states = await self._until_moved(states)
                if new := await self._lay(source):
                    # What was written into them before they were watched is nobody's event.
                    self._note({Change(folder, is_folder=True) for folder in new})
        except OSError as error:
            self._refused(error)
        finally:
            source.close()

    async def _until_moved(self, states: Mapping[Place, State]) -> Mapping[Place, State]:
        """Until an event tells of a folder, or a root is another one than before without any event; what they are."""
        took_s = 0.0
        while not self._moved.is_set():
            try:
                async with asyncio.timeout(max(LOOK_AGAIN_MS / 1000, took_s * POLL_SHARE)):
                    await self._moved.wait()
            except TimeoutError:
                now, took_s = await self._states()
                if moved := now.items() ^ states.items():
                    self._note({Change(place.spot, is_folder=True) for place, _ in moved})
                    return now
        return states

    async def _states(self) -> tuple[Mapping[Place, State], float]:
        """What every root is, and the seconds that looking took. A silent disk is told of."""
        started = time.monotonic()
        states = await self._aside(lambda: _states_of(places_of(self._corpora)))
        silent = sorted({place.root.name for place, state in states.items() if state.files is not None})
        self._explain(_silent_notice(silent) if silent else None)
        return states, time.monotonic() - started

    async def _poll(self) -> Source:
        """Look at every file in intervals until there is a source again."""
        seen: Seen | None = None
        retry_at = time.monotonic() + RETRY_MS / 1000
        while True:
            source: Source | None = None
            if time.monotonic() > retry_at:
                retry_at = time.monotonic() + RETRY_MS / 1000
                source = await self._open()
            started = time.monotonic()
            if source is not None:
                # What was written until the source was there is in this last comparison.
                await self._compared(seen)
                return source
            self._layout = Layout(await self._aside(lambda: places_of(self._corpora)), {})
            seen = await self._compared(seen)
            await asyncio.sleep(max(POLL_MS / 1000, (time.monotonic() - started) * POLL_SHARE))

    async def _compared(self, before: Seen | None) -> Seen:
        """What the files are now; what differs is told."""
        seen = await self._aside(lambda: _seen(self._layout.places))
        if before is not None:
            self._note({Change(path, is_folder=False) for path, _ in before.items() ^ seen.items()})
        elif self.laid.is_set():
            # What was written since the last event is unknown.
            self._note({ANYTHING})
        self.laid.set()
        return seen

    def _note(self, changes: Collection[Change]) -> None:
        self._gathered.update(changes)
        if self._telling is None and self._gathered:
            self._telling = asyncio.get_running_loop().call_later(GATHER_MS / 1000, self._tell)

    def _tell(self) -> None:
        gathered, self._gathered, self._telling = self._gathered, set(), None
        if self._layout.is_moved_by(gathered):
            self._moved.set()
        for agent_id, shown in self._layout.changed(gathered).items():
            self._on_change(agent_id, shown)

    def _refused(self, error: OSError) -> None:
        reason = errno.errorcode.get(error.errno or 0, type(error).__name__)
        self._explain(_refusal_notice(error.errno, reason))

    def _explain(self, notice: Notice | None) -> None:
        # News once, and so is its end.
        if notice == self._notice:
            return
        self._notice = notice
        if notice is None:
            log.info("file events are back")
        else:
            log.warning("files are polled", extra={"fields": {"reason": notice.message}})
        self._on_notice(notice)

    async def _aside(self, work: Callable[[], T]) -> T:
        """A disk that does not answer holds up this thread, and nobody who searches."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)


def _states_of(places: Iterable[Place]) -> dict[Place, State]:
    """What stands at each root: which folder, and on a silent disk, which files."""
    silent = silent_devices()
    states: dict[Place, State] = {}
    for place in places:
        with contextlib.suppress(OSError):
            info = Path(place.base).stat()
            files = frozenset(place.root.files()) if info.st_dev in silent else None
            states[place] = State(info.st_dev, info.st_ino, files)
    return states


def _seen(places: Iterable[Place]) -> Seen:
    """Every file with its time and size, by real path. Looks at the disk."""
    return {
        f"{place.base}/{found.relative}": (found.mtime_ns, found.size)
        for place in places
        for found in place.root.files()
    }


_REMEDIES = {
    errno.ENOSPC: "raise the limit of watches: sysctl fs.inotify.max_user_watches=524288",
    errno.EMFILE: "raise fs.inotify.max_user_instances, or the limit of open files",
}


def _refusal_notice(number: int | None, reason: str) -> Notice:
    message = f"the system gives no file events ({reason}); files are looked at every {POLL_MS // 1000} s or more"
    return Notice("watch_polling", message, _REMEDIES.get(number or 0, "see whether this system has inotify"))


def _silent_notice(roots: Iterable[str]) -> Notice:
    message = f"{', '.join(roots)}: on a disk without file events; looked at every {LOOK_AGAIN_MS // 1000} s or more"
    return Notice("watch_polling", message, "sync after writing from elsewhere, if that is too late")
