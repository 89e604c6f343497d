"""What becomes of an export, as a unified diff without context; bounded in memory, however long the export is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import islice
from typing import Final

MAX_LINES: Final = 500
"""So many lines of either side are compared from the first one that differs; comparing takes the square of that."""


class Difference:
    """An old export beside the new one, whose lines pass by on their way into its file.

    `old` are the old lines that are still to be compared, `same` is how many before them are known to be the same.
    """

    def __init__(self, old: Iterator[str], *, same: int = 0) -> None:
        self._old = old
        self._same = same
        self._was: list[str] = []
        self._is: list[str] = []
        self._differs = False
        self.cut = False
        """Whether there were more lines than are compared; known once `lines` has ended."""

    def watched(self, new: Iterable[str]) -> Iterator[str]:
        """The new lines, unchanged."""
        for line in new:
            self._see(line)
            yield line

    def _see(self, line: str) -> None:
        if not self._differs:
            was = next(self._old, None)
            if was == line:
                self._same += 1
                return
            self._differs = True
            self._was = [] if was is None else [was]
        if len(self._is) < MAX_LINES:
            self._is.append(line)
        else:
            self.cut = True

    def lines(self) -> Iterator[str]:
        """The diff, once all new lines have passed; nothing when nothing changed."""
        self._was += islice(self._old, MAX_LINES)
        self.cut = self.cut or next(self._old, None) is not None
        for kind, start, end, new_start, new_end in SequenceMatcher(None, self._was, self._is).get_opcodes():
            if kind != "equal":
                yield f"@@ -{self._range(start, end)} +{self._range(new_start, new_end)} @@"
                yield from (f"-{line}" for line in self._was[start:end])
                yield from (f"+{line}" for line in self._is[new_start:new_end])

    def _range(self, start: int, end: int) -> str:
        # An empty range names the line before it.
        return f"{self._same + start + (start < end)},{end - start}"
