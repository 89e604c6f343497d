"""One writer of an index at a time, in any process, and readers that never wait for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from backends.base import BackendError, Failure
from backends.builtin.locking import gate, one_writer
from backends.builtin.reader import Reader
from tests.backends.builtin.conftest import Desk

_HOLDER = """
import sys
from pathlib import Path
from backends.builtin.locking import one_writer
with one_writer(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_writer(index: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has the turn."""
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(index)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    try:
        yield holder
    finally:
        holder.kill()
        holder.stdin.close()
        holder.stdout.close()
        holder.wait()


def test_a_second_writer_is_told_to_wait(desk: Desk) -> None:
    """After its own patience it gets `locked` and the next step; searches go on."""
    desk.write("memory/a.md", "zebracomet\n")
    desk.sync()
    with another_writer(desk.index):
        with pytest.raises(BackendError) as locked:
            desk.sync()
        assert locked.value.failure is Failure.LOCKED
        assert "stateDir" in locked.value.hint
        assert desk.paths("zebracomet") == ["memory/a.md"]


def test_a_killed_writer_leaves_no_lock(desk: Desk) -> None:
    """The system gives the lock back, whatever file lies there."""
    desk.write("memory/a.md", "zebracomet\n")
    desk.sync()
    with another_writer(desk.index) as holder:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        desk.write("memory/b.md", "zebracomet\n")
        assert desk.sync().changed == 1


def test_a_second_writer_gets_its_turn_when_the_first_is_done(tmp_path: Path) -> None:
    """It need not ask again."""
    index, order = tmp_path / "i.sqlite", []

    def second() -> None:
        with one_writer(index, wait_s=30.0):
            order.append("second")

    thread = threading.Thread(target=second)
    with one_writer(index):
        thread.start()
        thread.join(0.05)
        order.append("first")
    thread.join(30.0)
    assert order == ["first", "second"]


def test_nobody_opens_an_index_while_its_file_is_exchanged(desk: Desk) -> None:
    """A file would be read with the log of another: opening waits for the gate, what is open does not."""
    desk.write("memory/a.md", "zebracomet\n")
    desk.sync()
    reader, opened = Reader(desk.index), threading.Event()

    def read() -> None:
        with reader.lease(time.monotonic() + 30):
            opened.set()

    thread = threading.Thread(target=read)
    with gate(desk.index, exclusive=True):
        thread.start()
        assert not opened.wait(0.2)
        assert desk.paths("zebracomet") == ["memory/a.md"]
    assert opened.wait(30)
    thread.join(30)
    reader.close()


_READER = """
import os, sys, time
from pathlib import Path
from backends.builtin.reader import Reader
index = Path(sys.argv[1])
def held():
    lines = Path("/proc/locks").read_text().splitlines()
    return sum(f" {os.getpid()} " in line and f":{index.stat().st_ino} " in line for line in lines)
deadline_at = time.monotonic() + 30
with Reader(index).lease(deadline_at):
    print(held())
    with Reader(index).lease(deadline_at):
        print(held())
"""


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="this system does not show its locks")
def test_opening_an_index_again_keeps_its_locks(desk: Desk) -> None:
    """Closing any descriptor of a file gives up all locks of the process: a writer would take the log away."""
    desk.write("memory/a.md", "zebracomet\n")
    desk.sync()
    told = subprocess.run([sys.executable, "-c", _READER, str(desk.index)], capture_output=True, text=True, check=True)
    assert told.stdout == "1\n1\n"
