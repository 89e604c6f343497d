"""The conversations beside the project: run when they are there, said aloud when they are not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.quality import locomo

HARNESS = "import os, sys; print(sys.argv[1:-1], os.environ['SIDECAR_CMD'].rpartition('/')[2])"


def beside(folder: Path, harness: str) -> Path:
    """A folder with two conversations, and the harness where it is looked for."""
    data = folder / "data" / "locomo"
    data.mkdir(parents=True)
    (folder / "tools").mkdir()
    (folder / "tools" / "locomo.py").write_text(harness, encoding="utf-8")
    for name in ("30", "26"):
        (data / f"{name}.json").write_text("{}", encoding="utf-8")
    return data


def test_the_harness_gets_every_conversation_and_our_own_daemon(tmp_path: Path) -> None:
    """What it prints is the report."""
    data = beside(tmp_path, HARNESS)
    words = ["sidecar", "--data", str(data), "--conv", "26,30", "--home"]
    assert locomo.report(data) == f"{words} qmd-sidecar"


def test_without_conversations_one_line_says_so(tmp_path: Path) -> None:
    """And how to name another folder."""
    told = locomo.report(tmp_path / "data" / "locomo")
    assert told.startswith("LoCoMo skipped") and "QUALITY_LOCOMO" in told and "\n" not in told


def test_a_harness_that_fails_is_not_silent(tmp_path: Path) -> None:
    """Its own error goes to standard error."""
    with pytest.raises(subprocess.CalledProcessError):
        locomo.report(beside(tmp_path, "raise SystemExit(3)"))
