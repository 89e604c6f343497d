"""Small files are replaced whole and are ours alone."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from backends.files import drop_half_written, write_atomically


def test_a_file_is_replaced_in_one_step_and_private(tmp_path: Path) -> None:
    """0600, and nothing else is left in the folder."""
    write_atomically(tmp_path / "f", b"one")
    write_atomically(tmp_path / "f", b"two")
    assert (tmp_path / "f").read_bytes() == b"two"
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    """A folder stands where the file should go."""
    (tmp_path / "f").mkdir()
    with pytest.raises(OSError):
        write_atomically(tmp_path / "f", b"two")
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]


WRITE_AND_DIE = """
import os, signal, sys
from pathlib import Path
from backends.files import drop_half_written, write_atomically
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
write_atomically(Path(sys.argv[1]), b"half")
"""


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    """Hidden files of others, folders, and links out of the folder, stay as they are."""
    kept = tmp_path / "state" / "agents" / ".notes.half.md"
    outside = tmp_path / "outside" / ".f.half"
    for file in (kept, outside):
        file.parent.mkdir(parents=True)
        file.write_bytes(b"")
    (kept.parent / "link").symlink_to(outside.parent)
    (kept.parent / ".draft.half").touch()
    (kept.parent / ".folder.abcdefgh.half").mkdir()
    subprocess.run([sys.executable, "-c", WRITE_AND_DIE, str(kept.with_name("f"))], check=False)
    assert len([*kept.parent.iterdir()]) == 5
    drop_half_written(tmp_path / "state")
    assert {entry.name for entry in kept.parent.iterdir()} == {
        kept.name,
        "link",
        ".draft.half",
        ".folder.abcdefgh.half",
    }
    assert outside.exists()
