"""Pauses after failures: each longer than the one before, kept over a restart, and never in step with others."""

from __future__ import annotations

import random
from dataclasses import dataclass

FIRST_S = 60.0
LONGEST_S = 3600.0
_JITTER = 0.2


@dataclass(frozen=True, slots=True)
class Pause:
    """How often something failed in a row, and when (Unix seconds) it may be tried again; `cause` is the last class."""

    failures: int = 0
    not_before: float = 0.0
    cause: str = ""

    def longer(self, now: float, cause: str) -> Pause:
        """The pause after one more failure: a minute, then twice as long each time, up to an hour."""
        length_s = min(LONGEST_S, FIRST_S * 2.0 ** min(self.failures, 16))
        return Pause(self.failures + 1, now + length_s * random.uniform(1, 1 + _JITTER), cause)  # noqa: S311

    def lasts(self, now: float) -> bool:
        """Whether it is still too early. A clock that was set back must not make a pause longer than it ever was."""
        return now < self.not_before <= now + LONGEST_S * (1 + _JITTER)
