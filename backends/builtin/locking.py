"""Who may write an index, and when its file may be exchanged. The locks are `flock`: a kill gives them back."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from backends.base import BackendError, Failure

#: How long a second writer waits for its turn, in seconds.
WRITER_WAIT_S = 5.0
#: An exchange of files takes less than a millisecond, and so does opening one.
GATE_WAIT_S = 5.0
_PAUSE_S = 0.01


@contextmanager
def one_writer(index: Path, wait_s: float = WRITER_WAIT_S) -> Iterator[None]:
    """Be the only writer of an index on this machine. Raises `BackendError(LOCKED)` after `wait_s`, and `OSError`."""
    flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC
    descriptor = os.open(index.with_name(f"{index.name}.lock"), flags, 0o600)
    try:
        _lock(
            descriptor,
            fcntl.LOCK_EX,
            wait_s,
            BackendError(
                Failure.LOCKED,
                "Another process is writing the index.",
                hint="It is tried again later. Two daemons with one stateDir or store.path get in each other's way.",
            ),
        )
        yield
    finally:
        os.close(descriptor)


@contextmanager
def gate(index: Path, *, exclusive: bool = False) -> Iterator[None]:
    """Keep opening an index and exchanging its file apart: a reader enters shared, an exchange exclusively.

    A file that is opened beside the log of another one would be read as a mixture of both. Raises
    `BackendError(LOCKED)`, and `OSError` where there is no folder.
    """
    # The folder, since the index's own file is what is exchanged.
    descriptor = os.open(index.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _lock(
            descriptor,
            fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH,
            GATE_WAIT_S,
            BackendError(Failure.LOCKED, "The index's file is being exchanged.", hint="It is tried again later."),
        )
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, operation: int, wait_s: float, refusal: BackendError) -> None:
    give_up_at = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > give_up_at:
                raise refusal from None
            time.sleep(_PAUSE_S)
        else:
            return
