"""A full disk is told apart, however deep it is behind."""

from __future__ import annotations

import errno

import apsw
import pytest

from backends.full_disk import is_full_disk


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
