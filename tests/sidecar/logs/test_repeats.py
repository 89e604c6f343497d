"""What goes wrong is told, but not by the second."""

from __future__ import annotations

import logging

from sidecar.logs.repeats import MOST_KINDS, PAUSE_S, RepeatedWarnings, Repeats


class Clock:
    """A clock that is set."""

    now = 0.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


def test_the_first_is_told_and_its_repeats_with_the_next() -> None:
    """One line in ten minutes, and nothing is lost."""
    clock = Clock()
    repeats = Repeats(clock)
    told = []
    for second in range(2 * int(PAUSE_S) + 1):
        clock.now = float(second)
        told.append(repeats.count("a"))
    assert [count for count in told if count is not None] == [0, 599, 599]
    assert [at for at, count in enumerate(told) if count is not None] == [0, 600, 1200]


def test_one_chat_does_not_hide_another() -> None:
    """Each kind has its own first time."""
    repeats = Repeats()
    assert [repeats.count(what) for what in ("a", "b", "a", "b")] == [0, 0, None, None]


def test_a_caller_who_invents_channels_fills_neither_memory_nor_disk() -> None:
    """Beyond so many kinds all others count as one."""
    clock = Clock()
    repeats = Repeats(clock)
    told = [repeats.count(number) for number in range(10_000)]
    assert sum(count is not None for count in told) == MOST_KINDS + 1
    assert repeats.count("new") is None
    clock.now = PAUSE_S
    assert repeats.count("new") == 0


def test_a_flood_of_one_warning_hides_no_other_and_is_counted() -> None:
    """Each event of each agent has its own kinds; a line of another level is none of them."""
    clock = Clock()
    repeats = RepeatedWarnings(clock)

    def told(event: str, level: int = logging.WARNING, **fields: object) -> int | None:
        return repeats.count(logging.makeLogRecord({"msg": event, "levelno": level, "fields": fields}))

    for number in range(10_000):
        told("denied by scope", agent="main", channel=str(number))
    assert told("denied by scope", agent="main", channel="new") is None
    assert told("denied by scope", agent="other", channel="new") == 0
    assert told("search failed", agent="main", reason="timeout") == 0
    assert told("search failed", agent="main", reason="timeout", requestId="r", calls=7) is None
    assert [told("synced", logging.INFO) for _ in range(3)] == [0, 0, 0]
    clock.now = PAUSE_S
    assert told("search failed", agent="main", reason="timeout") == 1
