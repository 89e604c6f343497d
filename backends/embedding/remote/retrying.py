"""When a refused request is tried again, and after which pause."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception

from backends.embedding.remote.wire import RefusedError, Trouble

T = TypeVar("T")

ATTEMPTS = 3
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 8.0
_JITTER = 0.2
#: Who is asked to wait longer gives up at once, with the reason.
LONGEST_ASKED_S = 60.0
_PASSING = frozenset({Trouble.RATE, Trouble.SERVER, Trouble.NETWORK, Trouble.TIMEOUT})


@dataclass(frozen=True, slots=True)
class Patience:
    """Pauses between attempts. The clock (seconds), the sleep and the dice are parameters so that tests wait for none.

    `budget_s` bounds all attempts together, as far as no attempt begins after it.
    """

    budget_s: float = float("inf")
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    dice: Callable[[], float] = random.random

    def persist(self, attempt: Callable[[], T]) -> T:
        """The result of the first attempt that succeeds, of at most three. Raises the last `RefusedError`."""
        end = self.clock() + self.budget_s
        retrying = Retrying(
            retry=retry_if_exception(passes),
            wait=self._pause,
            stop=lambda state: state.attempt_number >= ATTEMPTS or self.clock() + state.upcoming_sleep > end,
            sleep=self.sleep,
            reraise=True,
        )
        return retrying(attempt)

    def _pause(self, state: RetryCallState) -> float:
        grown: float = _FIRST_PAUSE_S * 2 ** (state.attempt_number - 1) * (1 + _JITTER * self.dice())
        error = state.outcome.exception() if state.outcome else None
        asked = (error.retry_after_s or 0.0) if isinstance(error, RefusedError) else 0.0
        return max(asked, min(grown, _LONGEST_PAUSE_S))


def passes(error: BaseException) -> bool:
    """Whether a failure may be gone after a pause that is short enough to wait for."""
    if not isinstance(error, RefusedError) or error.trouble not in _PASSING:
        return False
    return error.retry_after_s is None or error.retry_after_s <= LONGEST_ASKED_S
