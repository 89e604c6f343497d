"""How many children this process has started, and how they ended."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum


class End(StrEnum):
    """How a child ended: by itself with success or without, by a signal of somebody else, or because we ended it."""

    OK = "ok"
    FAILED = "failed"
    KILLED = "killed"
    ENDED = "ended"

    @classmethod
    def of(cls, status: int) -> End:
        """The end of a child that we did not end. `status` is negative, or 128 and more, after a signal."""
        if status == 0:
            return cls.OK
        return cls.KILLED if status < 0 or status >= 128 else cls.FAILED


class Lives:
    """Counts by verb, which is a word of ours and never an argument."""

    def __init__(self) -> None:
        self.started: Counter[str] = Counter()
        self.ended: Counter[tuple[str, End]] = Counter()

    def begin(self, verb: str) -> None:
        """A child was started."""
        self.started[verb] += 1

    def end(self, verb: str, how: End) -> None:
        """It is gone."""
        self.ended[verb, how] += 1


#: Children belong to the process, whichever engine started them.
LIVES = Lives()
