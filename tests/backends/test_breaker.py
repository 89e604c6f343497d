"""The breaker as data: when it opens, when the next probe is, and what closing forgets."""

from __future__ import annotations

from backends.base import Failure
from backends.breaker import FIRST_PAUSE_S, LONGEST_PAUSE_S, TIMEOUTS_TO_OPEN, Breaker, State


def opened(*, at: float = 100.0) -> Breaker:
    """A breaker that a hard failure opened."""
    breaker = Breaker()
    assert breaker.failed(Failure.EXITED, at=at)
    return breaker


def test_the_next_probe_is_one_pause_after_the_failure() -> None:
    """The moment is known as soon as the breaker opens."""
    assert opened(at=100.0).next_probe_at == 100.0 + FIRST_PAUSE_S


def test_during_a_probe_and_when_closed_no_probe_is_due() -> None:
    """A moment that lies in the past would read as a probe that was forgotten."""
    breaker = opened()
    breaker.probe()
    assert (breaker.state, breaker.next_probe_at) == (State.PROBING, None)
    breaker.probe_succeeded()
    assert (breaker.state, breaker.next_probe_at, breaker.tripped) == (State.CLOSED, None, None)


def test_pauses_grow_to_a_limit() -> None:
    """Each failed probe doubles the pause, counted from the moment it failed, up to five minutes."""
    breaker, at = opened(), 100.0
    for _ in range(12):
        breaker.probe()
        at += 10.0
        breaker.probe_failed(Failure.LOCKED, at=at)
    assert breaker.next_probe_at == at + LONGEST_PAUSE_S


def test_time_outs_open_it_only_in_a_row() -> None:
    """An answer in between starts the count again."""
    breaker = Breaker()
    for _ in range(TIMEOUTS_TO_OPEN - 1):
        assert not breaker.failed(Failure.TIMEOUT, at=1.0)
    breaker.succeeded()
    assert not breaker.failed(Failure.TIMEOUT, at=2.0)
    assert breaker.closed
