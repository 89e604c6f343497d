"""The sweep: children of a daemon that was killed, and strays that left the tree of a living one.

Normally there are none, since a leash ends a child's tree with the daemon; but a descendant that began a session of
its own and outlived its parent is in nobody's tree. Ended is only what is proven to be ours. The proof is the
child's own environment: the mark that names our state folder, and a cache folder inside it. A person's own qmd on the
same index has no mark.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import psutil

from backends.qmd.home import STATE_VARIABLE


def sweep(state: Path, *, spare: Callable[[], Collection[int]] = frozenset, grace_s: float = 1.0) -> int:
    """End what is ours but for the ids in `spare`, as trees; how many processes that were.

    Call it while holding the lock of the state folder. Blocks for `grace_s` at most, and as long again. Handles
    remember the create time, so that a reused id is never mistaken.
    """
    orphans = strays(state, spare=spare)
    for process in orphans:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _, deaf = psutil.wait_procs(orphans, timeout=grace_s)
    for process in deaf:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(deaf, timeout=grace_s)
    return len(orphans)


def strays(state: Path, *, spare: Callable[[], Collection[int]] = frozenset) -> list[psutil.Process]:
    """What is ours but for the ids in `spare`, with all that runs below it. Ends nothing."""
    marked = [process for process in psutil.process_iter() if _is_ours(process, state)]
    # Asked after the listing: a child that is started meanwhile is in neither.
    spared = spare()
    return _trees(process for process in marked if process.pid not in spared)


def descendants() -> frozenset[int]:
    """The ids of all that runs below this process: children that are under somebody's eyes."""
    return frozenset(process.pid for process in psutil.Process().children(recursive=True))


def _is_ours(process: psutil.Process, state: Path) -> bool:
    if process.pid == os.getpid():
        return False
    try:
        environment = process.environ()
    except (psutil.Error, OSError):
        return False  # somebody else's, or gone
    if environment.get(STATE_VARIABLE) != str(state):
        return False
    cache = environment.get("XDG_CACHE_HOME", "")
    return Path(cache).is_relative_to(state) and cache != str(state)


def _trees(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """The processes and all their descendants, each once, and never ourselves."""
    found: dict[int, psutil.Process] = {}
    for process in processes:
        with contextlib.suppress(psutil.Error):
            found.update({member.pid: member for member in (process, *process.children(recursive=True))})
    found.pop(os.getpid(), None)
    return list(found.values())
