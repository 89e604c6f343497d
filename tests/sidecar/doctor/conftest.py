"""Patients whose paths are short: a socket's path is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sidecar.doctor.patient import Patient


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> Iterator[Patient]:
    """Somebody without a daemon."""
    for name in [name for name in os.environ if name.startswith(("SIDECAR_", "XDG_", "OPENCLAW_"))]:
        monkeypatch.delenv(name)
    with tempfile.TemporaryDirectory(prefix="qd-") as folder:
        yield Patient.born(Path(folder))
