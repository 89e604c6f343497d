"""Where the daemon's files are by default, also for somebody with next to no environment."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from sidecar import places


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "somewhere"}])
def test_a_home_that_is_not_named_is_the_account_s(environ: dict[str, str]) -> None:
    """A service and a container may have none; the root of the disk is nobody's home, nor is a relative path."""
    assert places.home(environ) == Path(pwd.getpwuid(os.getuid()).pw_dir)


def test_a_home_that_is_named_is_taken_at_its_word() -> None:
    """Whether it exists or not."""
    assert places.home({"HOME": "/nonexistent"}) == Path("/nonexistent")
