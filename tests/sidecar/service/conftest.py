"""Service managers of our own, in front of the machine's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sidecar.service.invocation import Invocation
from tests.sidecar.service.fake_managers import FakeManagers


@pytest.fixture
def managers(tmp_path: Path) -> FakeManagers:
    """The commands, with nothing told yet."""
    return FakeManagers(tmp_path)


@pytest.fixture
def environ(tmp_path: Path, managers: FakeManagers, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A home of its own, and a PATH on which the fake commands come first."""
    path = f"{managers.bin}{os.pathsep}{os.defpath}"
    # A program is looked for on the PATH of the one who starts it.
    monkeypatch.setenv("PATH", path)
    return {"HOME": str(tmp_path / "home"), "PATH": path}


@pytest.fixture
def invocation() -> Invocation:
    """Something that can be started."""
    return Invocation(argv=("/bin/true", "run"), environment={"PATH": "/usr/bin"}, writes=(Path("/var/notes"),))
