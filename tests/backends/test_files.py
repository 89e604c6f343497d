"""Small files are replaced whole and are ours alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from backends.files import write_atomically


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
