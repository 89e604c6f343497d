"""The kills of a starting, reloading and ending daemon in their short form; `make chaos-lifecycle` is the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.lifecycle import SEED, STAGES, points, storm

KILLS = 6


@pytest.mark.alone
@pytest.mark.timeout(180)
def test_the_next_daemon_is_ready_and_lacks_nothing_whenever_the_last_one_is_killed(tmp_path: Path) -> None:
    """No stray, no stale file in the way, no note or export lost, no flush granted twice."""
    chaos = storm(tmp_path, kills=KILLS, seed=SEED)
    print(chaos.table())
    assert (chaos.kills.total(), chaos.faults) == (KILLS, [])


def test_kills_are_spread_over_each_stage_and_a_little_beyond_its_end() -> None:
    found = points(36)
    assert len({*found}) == 36
    for stage in STAGES:
        shares = [point.share for point in found if point.stage == stage]
        assert shares == sorted(shares)
        assert shares[0] < 0.2
        assert shares[-1] > 0.9
