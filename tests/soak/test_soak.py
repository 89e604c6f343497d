"""The soak in its short form; `make soak` is the long one. And the judge of growth, who must not be fooled."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.soak.__main__ import SEED, soak
from tests.soak.growth import Trend

SECONDS, IDLE_S = 20, 4
WARMING = 1 / 3


@pytest.mark.alone
@pytest.mark.timeout(180)
def test_nothing_grows_and_nothing_fails_while_everything_happens_at_once(tmp_path: Path) -> None:
    """And nothing is written once it is over."""
    runs = soak(tmp_path, seconds=SECONDS, idle_s=IDLE_S, seed=SEED, warming=WARMING)
    print("\n".join(run.table() for run in runs))
    # A daemon of half a minute is still warming; what is lost with each request would be far more in so many.
    assert [fault for run in runs for fault in run.faults(rss_mb=24)] == []
    assert all(run.load.reloads and run.load.asked["triggers"] for run in runs)


TIMES = list(range(60))


def noisy(*values: float) -> list[float]:
    draw = random.Random(1)
    return [value + draw.uniform(-2, 2) for value in values]


def test_a_leak_is_growth_whatever_the_noise() -> None:
    trend = Trend.of(TIMES, noisy(*(100 + 0.5 * time for time in TIMES)))
    assert trend.grew(room=15)
    assert trend.per_minute == pytest.approx(30, rel=0.1)


def test_noise_a_peak_and_a_small_step_are_no_growth() -> None:
    level, peak = noisy(*([100] * 60)), noisy(*([100] * 60))
    peak[-3:] = [400, 400, 400]
    step = noisy(*([100] * 30), *([104] * 30))
    assert not any(Trend.of(TIMES, values).grew(room=8) for values in (level, peak, step))


def test_what_falls_does_not_grow() -> None:
    assert not Trend.of(TIMES, [100.0 - time for time in TIMES]).grew(room=0)
