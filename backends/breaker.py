"""A circuit breaker as data: three states, the edges between them, and pauses that grow."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from backends.base import Failure

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 300.0
#: One late answer is weather; two in a row are climate.
TIMEOUTS_TO_OPEN = 2


class State(StrEnum):
    """Where the breaker stands."""

    CLOSED = "closed"
    OPEN = "open"
    PROBING = "probing"


EDGES = frozenset(
    {
        (State.CLOSED, State.OPEN),
        (State.OPEN, State.PROBING),
        (State.PROBING, State.OPEN),
        (State.PROBING, State.CLOSED),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tripped:
    """The failure that opened the breaker. `since` is Unix time in seconds."""

    reason: Failure
    since: float


class Breaker:
    """Counts failures of one engine and says whether it may be asked.

    The caller reports every outcome; the breaker never waits and never asks by itself. `next_probe_at` is Unix time
    in seconds, None while closed and during a probe.
    """

    def __init__(self) -> None:
        self.state = State.CLOSED
        self.tripped: Tripped | None = None
        self.next_probe_at: float | None = None
        self._timeouts = 0
        self._pause_s = 0.0

    @property
    def closed(self) -> bool:
        """Whether the engine may be asked."""
        return self.state is State.CLOSED

    @property
    def pause_s(self) -> float:
        """How long to wait before the next probe, in seconds."""
        return self._pause_s

    def succeeded(self) -> None:
        """Record an answer of the engine while the breaker is closed."""
        self._timeouts = 0

    def failed(self, reason: Failure, *, at: float) -> bool:
        """Record a failure at Unix time `at` and say whether it opened the breaker."""
        if not self.closed:
            return False
        if reason is Failure.TIMEOUT:
            self._timeouts += 1
            if self._timeouts < TIMEOUTS_TO_OPEN:
                return False
        self._to(State.OPEN)
        self.tripped = Tripped(reason=reason, since=at)
        self._wait(FIRST_PAUSE_S, at=at)
        return True

    def probe(self) -> None:
        """Begin a probe."""
        self._to(State.PROBING)
        self.next_probe_at = None

    def probe_failed(self, reason: Failure, *, at: float) -> None:
        """Stay open, from Unix time `at` with a longer pause; the reason shown is the newest one."""
        self._to(State.OPEN)
        assert self.tripped is not None
        self.tripped = Tripped(reason=reason, since=self.tripped.since)
        self._wait(min(LONGEST_PAUSE_S, self._pause_s * 2), at=at)

    def probe_succeeded(self) -> None:
        """Close again and forget the past."""
        self._to(State.CLOSED)
        self.tripped = None
        self._timeouts = 0

    def _wait(self, pause_s: float, *, at: float) -> None:
        self._pause_s = pause_s
        self.next_probe_at = at + pause_s

    def _to(self, state: State) -> None:
        assert (self.state, state) in EDGES, f"{self.state} -> {state}"
        self.state = state
