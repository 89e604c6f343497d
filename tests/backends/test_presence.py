"""What is at a path: whatever cannot be looked at is not there, and no error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from backends.presence import is_file, is_folder, is_there


def looked_at(path: Path) -> tuple[bool, bool, bool]:
    """Whether it is there, a folder, a file."""
    return is_there(path), is_folder(path), is_file(path)


def test_files_and_folders_are_told_apart(tmp_path: Path) -> None:
    """Links count as what they lead to."""
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    assert looked_at(tmp_path) == (True, True, False)
    assert looked_at(tmp_path / "file") == looked_at(tmp_path / "link") == (True, False, True)
    assert looked_at(tmp_path / "pipe") == (True, False, False)


@pytest.mark.parametrize("name", ["missing", "loop", "n" * 300, "nul\0", "file/below"])
def test_what_no_disk_can_show_is_not_there(tmp_path: Path, name: str) -> None:
    """None of these raises."""
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    assert looked_at(tmp_path / name) == (False, False, False)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser enters everything")
def test_what_lies_in_a_closed_folder_is_not_there(tmp_path: Path) -> None:
    """Another user's home folder is such a one."""
    (tmp_path / "closed" / "inner").mkdir(parents=True)
    (tmp_path / "closed").chmod(0)
    try:
        assert looked_at(tmp_path / "closed" / "inner") == (False, False, False)
    finally:
        (tmp_path / "closed").chmod(0o700)
