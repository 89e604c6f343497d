"""Small files are replaced whole and are ours alone."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

import apsw
import pytest

from backends.files import is_full_disk, write_atomically


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


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(errno.ENOSPC, "no space"), True),
        (OSError(errno.EDQUOT, "quota"), True),
        (OSError(errno.EACCES, "denied"), False),
        (apsw.FullError(), True),
        (apsw.CorruptError(), False),
    ],
)
def test_a_full_disk_is_told_from_other_failures(error: Exception, full: bool) -> None:
    """Also when it is only the reason behind another failure."""
    behind = apsw.SQLError()
    behind.__context__ = error
    assert is_full_disk(error) is is_full_disk(behind) is full
