"""Other processes: daemons that clients find instead of ours, whoever holds the state folder, and orphans."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from backends.qmd import descendants, strays, sweep
from sidecar import places
from sidecar.client.finding import read_pointer
from sidecar.doctor.catalogue import Code, Finding
from sidecar.doctor.subject import Subject
from sidecar.gateway.listener import answers
from sidecar.state import StateLock, holder_of


def daemons(subject: Subject) -> Iterator[Finding]:
    """Pointer files, the lock, and what runs on our state folder without us."""
    state = subject.settings.state_dir
    for folder in (*places.run_dirs(subject.environ, state), places.meeting_dir(subject.environ)):
        yield from _pointed(folder / places.POINTER, state)
    if subject.live is None and (pid := holder_of(state)) is not None:
        # Somebody looks after what runs there.
        if not answers(subject.settings.socket):
            yield Code.LOCK_HELD.found(f"process {pid} holds {state} and does not listen at its socket", pid=pid)
    elif orphans := strays(state, spare=descendants):
        pids = [process.pid for process in orphans]
        message = f"{len(pids)} processes still run on {state} without a daemon above them"
        yield Code.ORPHANS.found(message, pids=pids, mend=lambda: _end(subject))


def _pointed(pointer: Path, state: Path) -> Iterator[Finding]:
    if not places.is_ours(pointer.parent) or (found := read_pointer(pointer)) is None:
        return
    socket, owner = found
    if not answers(socket):
        message = f"{pointer} names a daemon that is gone"
        yield Code.POINTER_STALE.found(message, path=pointer, mend=lambda: _remove(pointer))
    elif owner.absolute() != state.absolute():
        message = f"clients that name no socket find the daemon of {owner}"
        yield Code.ANOTHER_DAEMON.found(message, path=owner)


def _remove(pointer: Path) -> str:
    found = read_pointer(pointer)
    if found is None or answers(found[0]):
        return ""
    pointer.unlink(missing_ok=True)
    return f"removed {pointer}"


def _end(subject: Subject) -> str:
    state = subject.settings.state_dir
    if subject.live is not None:
        ended = sweep(state, spare=descendants)
    else:
        # A daemon that starts meanwhile has children that look like orphans from here.
        with StateLock(state):
            ended = sweep(state)
    return f"processes ended: {ended}" if ended else ""
