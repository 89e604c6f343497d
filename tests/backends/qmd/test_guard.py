"""When a loss of files is believed, and how long a failure is given a pause."""

from __future__ import annotations

import pytest

from backends.qmd.guard import AGREES_AFTER_S, Loss, Reason, judge
from backends.qmd.pausing import FIRST_S, LONGEST_S, Pause

T = 1_000_000.0


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (40, 19, Reason.SHRUNK),
        (40, 20, None),
        (38, 18, Reason.SHRUNK),
        (38, 19, None),
        (30, 11, None),
        (1, None, Reason.MISSING),
        (0, None, None),
        (100, 0, Reason.SHRUNK),
        (10, 90, None),
    ],
)
def test_a_loss_is_more_than_half_and_at_least_twenty(before: int, after: int | None, reason: Reason | None) -> None:
    """A missing folder counts from its first file; one that never was there is no loss."""
    held = judge({"a": before}, {"a": after}, {}, T)
    assert [loss.reason for loss in held.values()] == ([reason] if reason else [])


def test_a_second_scan_ten_minutes_later_is_believed() -> None:
    """Not a moment earlier, and each root by its own clock."""
    held = judge({"a": 100, "b": 5}, {"a": 10, "b": 5}, {}, T)
    later = judge({"a": 100, "b": 5}, {"a": 10, "b": None}, held, T + AGREES_AFTER_S - 1)
    assert later == {"a": Loss(Reason.SHRUNK, T, 10), "b": Loss(Reason.MISSING, T + AGREES_AFTER_S - 1, 0)}
    assert list(judge({"a": 100, "b": 5}, {"a": 10, "b": None}, later, T + AGREES_AFTER_S)) == ["b"]


def test_a_return_is_believed_at_once() -> None:
    """Nothing is left of the suspicion."""
    held = judge({"a": 100}, {"a": None}, {}, T)
    assert judge({"a": 100}, {"a": 100}, held, T + 1) == {}


@pytest.mark.parametrize(("files", "at"), [(5, T + AGREES_AFTER_S), (10, T - 50), (None, T + AGREES_AFTER_S)])
def test_what_does_not_agree_starts_anew(files: int | None, at: float) -> None:
    """Shrinking goes on, the clock was set back, or half empty became gone: wait from here."""
    held = judge({"a": 100}, {"a": 10}, {}, T)
    assert judge({"a": 100}, {"a": files}, held, at)["a"].since == at


def test_pauses_double_from_a_minute_to_an_hour() -> None:
    """With some jitter on top, so that many agents do not come back in step."""
    pause, lengths = Pause(), []
    for _ in range(9):
        pause = pause.longer(T, "exited")
        lengths.append(pause.not_before - T)
    for length, base in zip(lengths, [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600], strict=True):
        assert base <= length <= base * 1.2
    assert (pause.failures, pause.cause, FIRST_S, LONGEST_S) == (9, "exited", 60, 3600)


def test_a_clock_that_was_set_back_does_not_lengthen_a_pause() -> None:
    """A pause that would last for days is none."""
    pause = Pause().longer(T, "exited")
    assert pause.lasts(T + 59)
    assert not pause.lasts(T + 80)
    assert not pause.lasts(T - 90_000)
