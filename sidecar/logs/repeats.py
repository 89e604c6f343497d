"""How often the same is told: what happens every second must neither fill the disk nor hide something else."""

from __future__ import annotations

import logging
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

#: The same is told once in so many seconds.
PAUSE_S = 600.0
#: So many different ones are told apart; a caller can invent channels without end.
MOST_KINDS = 64
#: Each of these is news: a change of state, whose end is told as well, or the one line of a request.
NEWS = frozenset(
    {"request", "engine failed over", "sync failed", "root held", "files are polled", "configuration refused"}
)
#: Differs with every request, and is no fact about what happened.
_EACH = frozenset({"requestId"})
_OTHERS = "others"


@dataclass(slots=True)
class _Told:
    at: float
    repeats: int = 0


class Repeats:
    """Counts what is not told again. `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[Hashable, _Told] = {}

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


class RepeatedWarnings:
    """The `Repeats` of each warning and error of each agent, so that a flood of one hides no other."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._of: defaultdict[Hashable, Repeats] = defaultdict(lambda: Repeats(clock))

    def count(self, record: logging.LogRecord) -> int | None:
        """None when a record says what was said a moment ago; else how many such were passed over since.

        The same are two records whose texts and facts are the same; numbers in the fields, which count or name a
        process, make no difference.
        """
        if record.levelno < logging.WARNING or record.msg in NEWS:
            return 0
        fields = getattr(record, "fields", {})
        facts = sorted((key, value) for key, value in fields.items() if isinstance(value, str) and key not in _EACH)
        what = (record.getMessage(), *facts, *_raised(record))
        return self._of[record.name, record.msg, fields.get("agent")].count(what)


def _raised(record: logging.LogRecord) -> Iterator[Hashable]:
    """The kind of an exception and where it was raised: another one is no repetition."""
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        yield type(error).__qualname__
        yield from ((frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__))
