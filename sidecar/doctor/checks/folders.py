"""Folders: those of the notes, those that the daemon keeps, the disks that they lie on, and their times."""

from __future__ import annotations

import fnmatch
import os
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from backends.presence import is_folder
from sidecar import places
from sidecar.doctor.catalogue import Code, Finding
from sidecar.doctor.subject import Subject, account
from sidecar.logs.places import LOG_FOLDER
from sidecar.places import SAMPLE_FOLDER
from sidecar.tools.flush import LEDGER
from sidecar.wording.terminal import size

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
#: Of a state folder with more files than this the first ones are looked at.
_MOST_ENTRIES = 100_000
#: What the daemon makes in its state folder.
_KEPT = (
    *("sidecar.lock", ".*.half", f"{LEDGER}*", "run", LOG_FOLDER, SAMPLE_FOLDER),
    *("memory/*", "agents/*/qmd", "agents/*/exports.sqlite*"),
)
_LOW_BYTES = 512 * 2**20
_FULL_BYTES = 64 * 2**20
#: 2024-01-01; nothing of ours was written before.
_FIRST_DAY = 1_704_067_200.0
_DAY_S = 86_400.0
_MOST_NAMED = 20


def folders(subject: Subject) -> Iterator[Finding]:
    """Workspaces that are missing, and folders of notes that are closed to us."""
    for agent in subject.agents:
        if (closed := _closed_above(agent.workspace)) is not None:
            message = f"the workspace {agent.workspace} of agent {agent.id} lies in {closed}, which cannot be entered"
            yield Code.FOLDER_CLOSED.found(message, path=closed)
        elif not is_folder(agent.workspace):
            message = f"the workspace {agent.workspace} of agent {agent.id} does not exist"
            yield Code.WORKSPACE_MISSING.found(message, path=agent.workspace)
    for path in dict.fromkeys(root.path for agent in subject.agents for root in subject.corpus(agent).roots):
        if is_folder(path) and not os.access(path, os.R_OK | os.X_OK):
            yield Code.FOLDER_CLOSED.found(f"{path} cannot be read", path=path)


def _closed_above(path: Path) -> Path | None:
    """The first folder on the way to `path` that we may not enter: what lies behind it cannot be told."""
    above = (folder for folder in reversed(path.parents) if is_folder(folder))
    return next((folder for folder in above if not os.access(folder, os.X_OK)), None)


def permissions(subject: Subject) -> Iterator[Finding]:
    """Files and folders of the state, and the meeting place, that others may enter or own."""
    for top in kept(subject):
        own = _own(top) if top == subject.settings.state_dir else [top]
        entries = list(islice(_entries(own), _MOST_ENTRIES))
        if strange := [entry for entry in entries if entry.uid != os.getuid()]:
            yield _strange(own, strange)
        if opened := [entry for entry in entries if entry.mode & _OTHERS and entry.uid == os.getuid()]:
            message = f"{len(opened)} of {len(entries)} files and folders are open to others, such as {opened[0].path}"
            yield Code.OPEN_TO_OTHERS.found(message, path=own, mend=partial(_close, own))


def kept(subject: Subject) -> list[Path]:
    """The folders in which the daemon keeps something, as far as they are there and no links."""
    named = (subject.settings.state_dir, places.meeting_dir(subject.environ))
    return [folder for folder in dict.fromkeys(named) if is_folder(folder) and not folder.is_symlink()]


def _own(state: Path) -> list[Path]:
    """The state folder; where others keep something in it, too, what in it is the daemon's."""
    try:
        present = {path.name for path in state.iterdir()}
    except OSError:
        # Another user's, as it seems; that is told by the folder itself.
        return [state]
    if present <= {name for pattern in _KEPT for name in fnmatch.filter(present, pattern.partition("/")[0])}:
        return [state]
    return [path for pattern in _KEPT for path in state.glob(pattern) if not path.is_symlink()]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file or folder that is no link."""

    path: Path
    mode: int
    uid: int


def _entries(tops: Iterable[Path]) -> Iterator[_Entry]:
    for path in (path for top in tops for path in _below(top)):
        try:
            info = path.lstat()
        except OSError:
            continue
        # The mode of a link says nothing, and a socket may be open to a group on purpose.
        if not stat.S_ISLNK(info.st_mode) and not stat.S_ISSOCK(info.st_mode):
            yield _Entry(path, stat.S_IMODE(info.st_mode), info.st_uid)


def _below(top: Path) -> Iterator[Path]:
    yield top
    for folder, folders, files in os.walk(top):
        yield from (Path(folder) / name for name in (*folders, *files))


def _strange(own: list[Path], strange: list[_Entry]) -> Finding:
    message = f"{len(strange)} of the daemon's files and folders are another user's, such as {strange[0].path}"
    return Code.OWNED_BY_OTHERS.found(message, user=account(), path=own)


def _close(own: list[Path]) -> str:
    opened = [entry for entry in _entries(own) if entry.mode & _OTHERS and entry.uid == os.getuid()]
    for entry in opened:
        entry.path.chmod(entry.mode & ~_OTHERS, follow_symlinks=False)
    return f"closed {len(opened)} files and folders to others, such as {opened[0].path}" if opened else ""


def disk(subject: Subject) -> Iterator[Finding]:
    """Room for the state, the indexes and the socket, in bytes and in files."""
    seen: set[int] = set()
    for folder in kept(subject):
        if (device := folder.stat().st_dev) in seen:
            continue
        seen.add(device)
        yield from room(folder)


def room(folder: Path, *, low_bytes: int = _LOW_BYTES, full_bytes: int = _FULL_BYTES) -> Iterator[Finding]:
    """Whether the disk of one folder is nearly full."""
    info = os.statvfs(folder)
    free = info.f_bavail * info.f_frsize
    # A disk without a fixed number of files says 0 of 0.
    if free < full_bytes or (info.f_files and not info.f_favail):
        yield Code.DISK_FULL.found(f"{size(free)} and {info.f_favail} files are free at {folder}", path=folder)
    elif free < low_bytes:
        yield Code.DISK_LOW.found(f"{size(free)} are free at {folder}", path=folder)


def clock(subject: Subject) -> Iterator[Finding]:
    """A clock that was never set, and notes from tomorrow."""
    now = time.time()
    if now < _FIRST_DAY:
        yield Code.CLOCK_BEHIND.found(f"the clock says {time.strftime('%Y-%m-%d', time.gmtime(now))}")
        return
    files = list(islice(_later_than(subject, now + _DAY_S), _MOST_NAMED))
    if files:
        message = f"notes are more than a day newer than now, such as {files[0]}"
        yield Code.FROM_THE_FUTURE.found(message, files=files)


def _later_than(subject: Subject, at: float) -> Iterator[Path]:
    for agent in subject.agents:
        for root, found in subject.corpus(agent).files():
            if found.mtime_ns > at * 1e9:
                yield root.path / found.relative
