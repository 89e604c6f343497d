"""Changes that an engine's index does not hold yet, as far as events told of them."""

from __future__ import annotations

from collections.abc import Iterable

from backends.base import Pending


class Unindexed:
    """Shown paths with the time (Unix seconds) of their first change.

    A sync takes what there is when it begins. What changes again while it runs is new to it, whatever the clock says.
    """

    def __init__(self) -> None:
        self._new: dict[str, float] = {}
        self._taken: dict[str, float] = {}

    def __bool__(self) -> bool:
        return bool(self._new)

    def add(self, paths: Iterable[str], at: float) -> None:
        """These were changed."""
        for path in paths:
            self._new.setdefault(path, at)

    def take(self) -> None:
        """A sync begins: it will see all that was changed until here."""
        self._taken, self._new = self._new, {}

    def keep(self) -> None:
        """The sync failed, and saw nothing."""
        self._new, self._taken = {**self._new, **self._taken}, {}

    def drop(self) -> None:
        """The sync ended well."""
        self._taken = {}

    def pending(self, now: float) -> Pending | None:
        """What no sync that ended has seen."""
        waiting = {**self._new, **self._taken}
        if not waiting:
            return None
        return Pending(files=len(waiting), oldest_s=max(0.0, now - min(waiting.values())))
