"""The chaos run in its short form; `make chaos-qmd` is the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.qmd import SEED, stage, storm

pytestmark = pytest.mark.alone

SECONDS = 12


@pytest.mark.timeout(180)
def test_searches_are_answered_in_time_while_qmd_is_out_of_its_mind(tmp_path: Path) -> None:
    """No error, no late answer, no wrong reason, nothing left, and qmd is back with the first honest probe."""
    print(f"seed {SEED}")
    with stage(tmp_path) as (daemon, fake):
        run = storm(daemon, fake, seconds=SECONDS, seed=SEED)
    print(run.table())
    assert run.faults() == []
