"""How often a denial is told: a chat that asks every second must neither fill the disk nor hide another one's."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass

#: The same denial is told once in so many seconds.
PAUSE_S = 600.0
#: So many different ones are told apart; a caller can invent channels without end.
MOST_KINDS = 64
_OTHERS = "others"


@dataclass(slots=True)
class _Told:
    at: float
    repeats: int = 0


class Denials:
    """Counts the denials of one agent: those that are not told, and in `by_kind` all, by the kind of the session.

    `clock` is monotonic, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[Hashable, _Told] = {}
        self.by_kind: Counter[str] = Counter()

    def count(self, what: Hashable) -> int | None:
        """None when the same was told a moment ago; else how many were passed over since then, and it is told now."""
        what = self._kind(what)
        now, before = self._clock(), self._told.get(what)
        if before is not None and now - before.at < PAUSE_S:
            before.repeats += 1
            return None
        self._told[what] = _Told(now)
        return before.repeats if before else 0

    def _kind(self, what: Hashable) -> Hashable:
        if what in self._told or len(self._told) < MOST_KINDS:
            return what
        now = self._clock()
        self._told = {kind: told for kind, told in self._told.items() if now - told.at < PAUSE_S}
        return what if len(self._told) < MOST_KINDS else _OTHERS
