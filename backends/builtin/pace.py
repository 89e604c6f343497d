"""How fast a long job goes, from the reports that it makes anyway."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


class Pace:
    """Hears `{phase, done, total}` and tells it with `perSecond`, as soon as a phase has made headway twice.

    `clock` is monotonic, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._phase: str | None = None
        self._began_at = 0.0
        self._began_with = 0

    def timed(self, progress: dict[str, Any]) -> dict[str, Any]:
        """The report, with how many a second since the first one of its phase."""
        phase, done, now = progress["phase"], progress.get("done", 0), self._clock()
        if phase != self._phase:
            self._phase, self._began_at, self._began_with = phase, now, done
        took_s, made = now - self._began_at, done - self._began_with
        return {**progress, "perSecond": round(made / took_s, 1)} if took_s > 0 and made > 0 else progress
