"""The guard against believing a loss: a folder that is suddenly gone or half empty keeps its documents for a while.

A disk that is not mounted looks like a deletion of everything, and qmd would report success.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

#: Another scan this much later that finds the same is believed.
AGREES_AFTER_S = 600.0
#: A root must have lost that many files, and more than half of them.
_LEAST_LOST = 20


class Reason(StrEnum):
    """What happened to a root that is held."""

    MISSING = "missing"
    SHRUNK = "shrunk"


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss that is not believed yet: `since` is Unix seconds, `files` how many were left then."""

    reason: Reason | str
    since: float
    files: int


def judge(
    before: Mapping[str, int], now: Mapping[str, int | None], losses: Mapping[str, Loss], at: float
) -> dict[str, Loss]:
    """The roots to hold, by name. `now` has None for a root that is missing or cannot be read; `at` is Unix time."""
    held = {}
    for name, files in now.items():
        loss = _loss(before.get(name, 0), files, losses.get(name), at)
        if loss is not None:
            held[name] = loss
    return held


def _loss(before: int, files: int | None, known: Loss | None, at: float) -> Loss | None:
    left = files or 0
    if files is None:
        reason = Reason.MISSING if before else None
    else:
        reason = Reason.SHRUNK if before - left >= _LEAST_LOST and left * 2 < before else None
    if reason is None:
        return None
    # Something that goes on shrinking is still under way; a clock that was set back starts anew.
    if known is None or known.reason != reason or left < known.files or known.since > at:
        return Loss(reason, at, left)
    return None if at - known.since >= AGREES_AFTER_S else known
