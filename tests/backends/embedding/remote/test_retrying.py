"""Pauses between attempts, on a clock that nobody waits for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from backends.embedding.remote.retrying import Patience
from backends.embedding.remote.wire import RefusedError, Trouble


class Clock:
    """Time that passes by sleeping only, and what was slept."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def patience(self, dice: float = 0.0, budget_s: float = float("inf")) -> Patience:
        return Patience(budget_s=budget_s, clock=lambda: self.now, sleep=self.sleep, dice=lambda: dice)


def failing(times: int, trouble: Trouble, retry_after_s: float | None = None) -> Callable[[], int]:
    """An attempt that fails so often and then returns how often it was made."""
    made = 0

    def attempt() -> int:
        nonlocal made
        made += 1
        if made <= times:
            raise RefusedError(trouble, f"attempt {made}", retry_after_s=retry_after_s)
        return made

    return attempt


@pytest.mark.parametrize("trouble", [Trouble.RATE, Trouble.SERVER, Trouble.NETWORK, Trouble.TIMEOUT])
def test_what_passes_is_tried_three_times(trouble: Trouble) -> None:
    """With growing pauses."""
    clock = Clock()
    assert clock.patience().persist(failing(2, trouble)) == 3
    assert clock.slept == [0.5, 1.0]


def test_the_last_reason_is_raised() -> None:
    """After three attempts."""
    with pytest.raises(RefusedError, match="attempt 3"):
        Clock().patience().persist(failing(5, Trouble.SERVER))


@pytest.mark.parametrize("trouble", sorted(set(Trouble) - {"rate", "server", "network", "timeout"}))
def test_what_stays_is_tried_once(trouble: Trouble) -> None:
    """A quota, a key and a model are the same a second later."""
    clock = Clock()
    with pytest.raises(RefusedError, match="attempt 1"):
        clock.patience().persist(failing(1, trouble))
    assert clock.slept == []


def test_pauses_are_spread() -> None:
    """By up to a fifth, so that many threads do not come back at once."""
    clock = Clock()
    clock.patience(dice=1.0).persist(failing(2, Trouble.SERVER))
    assert clock.slept == pytest.approx([0.6, 1.2])


def test_an_asked_pause_is_kept_when_it_is_longer() -> None:
    """Up to a minute."""
    clock = Clock()
    clock.patience().persist(failing(1, Trouble.RATE, retry_after_s=60.0))
    assert clock.slept == [60.0]


def test_too_long_a_pause_is_not_begun() -> None:
    """The reason is told at once."""
    clock = Clock()
    with pytest.raises(RefusedError):
        clock.patience().persist(failing(1, Trouble.RATE, retry_after_s=60.5))
    assert clock.slept == []


def test_no_attempt_begins_after_the_budget() -> None:
    """Whoever waits for a question waits for all of its attempts."""
    clock = Clock()
    with pytest.raises(RefusedError, match="attempt 2"):
        clock.patience(budget_s=1.2).persist(failing(3, Trouble.SERVER))
    assert clock.slept == [0.5]


def test_other_errors_are_not_caught() -> None:
    """A mistake of our own is not tried again."""
    attempts: list[int] = []

    def broken() -> None:
        attempts.append(1)
        raise KeyError

    with pytest.raises(KeyError):
        Clock().patience().persist(broken)
    assert attempts == [1]
