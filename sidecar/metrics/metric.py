"""A metric: its name, what it means, and how it is read off a scene."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sidecar.metrics.scene import Scene
from sidecar.metrics.tally import Spread

#: The values of the labels in their order, and the value.
Row: TypeAlias = tuple[tuple[str, ...], float | Spread]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric as it is documented. `read` gives its rows, and may look at files: it runs on a thread."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    labels: tuple[str, ...]
    meaning: str
    read: Callable[[Scene], Iterable[Row]]


def counted(tally: Mapping[Any, int], *before: str) -> list[Row]:
    """The rows of a tally, behind the labels `before`. A copy: the loop goes on counting."""
    return [
        ((*before, *map(str, key if isinstance(key, tuple) else (key,))), number) for key, number in list(tally.items())
    ]


def one_of(words: Iterable[str], word: str | None, *before: str) -> list[Row]:
    """A row for each word of a closed list: 1 for the one that holds, 0 for the others."""
    return [((*before, str(each)), float(each == word)) for each in words]
