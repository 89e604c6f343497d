"""The chaos run of exports in its short form; `make chaos-exports` is the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.exports import SEED, storm

pytestmark = pytest.mark.alone

KILLS = 5


@pytest.mark.timeout(180)
def test_every_export_is_whole_whenever_an_export_is_killed(tmp_path: Path) -> None:
    """None lost, none twice, and nothing of anybody else's touched."""
    chaos = storm(tmp_path, kills=KILLS, seed=SEED)
    assert (chaos.kills, chaos.faults) == (KILLS, [])
