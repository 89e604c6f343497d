"""The chaos run of the built-in index in its short form; `make chaos-index` is the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.index import SEED, storm

pytestmark = pytest.mark.alone

KILLS = 6
NOTES = 150


@pytest.mark.timeout(180)
def test_what_was_indexed_is_found_whenever_the_worker_is_killed(tmp_path: Path) -> None:
    """No error, no empty answer, nothing lost but a batch, and a whole index at the end."""
    print(f"seed {SEED}")
    run = storm(tmp_path, kills=KILLS, seed=SEED, notes=NOTES)
    print(run.table())
    assert run.faults() == []
