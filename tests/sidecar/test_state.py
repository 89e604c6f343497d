"""The state folder has one owner; private files are replaced in one step."""

from __future__ import annotations

import fcntl
import os
import resource
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from sidecar.errors import StartupError
from sidecar.pointers import Pointers
from sidecar.state import StateLock, holder_of, private_folder, runtime_folder

HOLDER = """
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sidecar.state import StateLock
with StateLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_daemon_is_refused_and_told_who_holds_the_folder(tmp_path: Path) -> None:
    """Across processes."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StartupError, match=f"pid {holder.pid}, since"), StateLock(tmp_path):
            pass
        holder.kill()
    with StateLock(tmp_path):
        assert True, "a lock dies with its holder"


def test_somebody_who_only_looks_at_the_lock_ends_no_start(tmp_path: Path) -> None:
    """The doctor does so, and a service manager may start the daemon at the same moment."""
    (tmp_path / "sidecar.lock").touch()
    looked_at = (tmp_path / "sidecar.lock").open()
    fcntl.flock(looked_at, fcntl.LOCK_SH)
    timer = Timer(0.05, looked_at.close)
    timer.start()
    with StateLock(tmp_path):
        timer.join()


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_a_lock_that_is_no_plain_file_is_left_alone(tmp_path: Path, kind: str) -> None:
    """What a link leads to is somebody's, and a pipe would hold whoever looks."""
    lock, precious = tmp_path / "sidecar.lock", tmp_path / "precious"
    precious.write_text("precious", encoding="utf-8")
    {"link": lambda: lock.symlink_to(precious), "pipe": lambda: os.mkfifo(lock), "folder": lock.mkdir}[kind]()
    with pytest.raises(StartupError) as caught, StateLock(tmp_path):
        pass
    assert caught.value.code == "state_folder_unusable"
    assert holder_of(tmp_path) is None
    assert precious.read_text(encoding="utf-8") == "precious"


def test_the_state_folder_is_private(tmp_path: Path) -> None:
    """0700, whatever the mask."""
    assert stat.S_IMODE(private_folder(tmp_path / "state").stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    """A file stands in the way."""
    (tmp_path / "state").write_text("", encoding="utf-8")
    with pytest.raises(StartupError) as caught:
        private_folder(tmp_path / "state" / "inner")
    assert caught.value.code == "state_folder_unusable"


def test_the_runtime_folder_may_not_be_a_link(tmp_path: Path) -> None:
    """Turn files and pointers do not follow a link that somebody laid."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "qmd-sidecar").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StartupError):
        runtime_folder({"XDG_RUNTIME_DIR": str(tmp_path)})


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    """Also a link to a folder that is gone."""
    (tmp_path / "state").symlink_to(tmp_path / "unmounted")
    with pytest.raises(StartupError, match="a file or a broken link is in the way"):
        private_folder(tmp_path / "state")


def test_a_state_folder_that_is_removed_stays_ours(tmp_path: Path) -> None:
    """A second daemon must not take what the first one goes on writing to; clients find it again."""
    state, pointers = tmp_path / "state", Pointers()
    with StateLock(state) as lock:
        pointers.write(socket=tmp_path / "s", state_dir=state, started_at=0.0, environ={"TMPDIR": str(tmp_path)})
        assert not lock.tend()
        shutil.rmtree(state)
        assert lock.tend()
        pointers.tend()
        with pytest.raises(StartupError, match="another daemon owns"), StateLock(state):
            pass
        assert (state / "run" / "daemon.json").exists()
    with StateLock(state):
        assert True, "both locks end with their holder"


def test_a_state_folder_that_is_closed_for_a_while_is_as_it_was(tmp_path: Path) -> None:
    """Nothing is made anew and nothing raised: it may be open again in a moment."""
    state, pointers = tmp_path / "state", Pointers()
    with StateLock(state) as lock:
        pointers.write(socket=tmp_path / "s", state_dir=state, started_at=0.0, environ={"TMPDIR": str(tmp_path)})
        state.rename(tmp_path / "aside")
        state.write_text("", encoding="utf-8")
        assert not lock.tend()
        pointers.tend()
        assert state.read_text(encoding="utf-8") == ""


def test_a_state_folder_that_another_daemon_took_is_left_to_it(tmp_path: Path) -> None:
    """Whoever was quicker goes on, and the other one is told to end."""
    state = tmp_path / "state"
    with StateLock(state) as lock:
        lock.path.unlink()
        with StateLock(state), pytest.raises(StartupError) as refused:
            lock.tend()
    assert refused.value.code == "already_running"


@contextmanager
def nothing_can_be_written() -> Iterator[None]:
    """Every write of this process fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_keeps_no_daemon_from_starting(tmp_path: Path) -> None:
    """What is indexed can be searched: the lock holds without its text, and clients look where sockets are."""
    pointers = Pointers()
    with nothing_can_be_written(), StateLock(tmp_path / "state"):
        pointers.write(
            socket=tmp_path / "s", state_dir=tmp_path / "state", started_at=0.0, environ={"TMPDIR": str(tmp_path)}
        )
    assert not [*tmp_path.rglob("*daemon.json*")]
