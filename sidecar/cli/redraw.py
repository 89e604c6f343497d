"""A screen that is drawn again in the same place."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TextIO

_REST_OF_LINE = "\x1b[K"
_REST_OF_SCREEN = "\x1b[J"
#: Set for the time of a drawing alone, so that nothing is left behind by whoever is ended between two of them.
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"


class Redrawn:
    """Lines on a terminal that each drawing replaces; what does not fit below each other is counted."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._drawn = 0

    def draw(self, lines: Sequence[str]) -> None:
        """Show these lines in place of those before. A line that is too long for the screen is cut by it."""
        # The line below the last one is the cursor's.
        room = max(2, os.get_terminal_size(self._stream.fileno()).lines - 1)
        shown = lines if len(lines) <= room else [*lines[: room - 1], f"and {len(lines) - room + 1} more lines"]
        back = f"\x1b[{self._drawn}A" if self._drawn else ""
        drawn = "".join(f"{line}{_REST_OF_LINE}\n" for line in shown)
        self._stream.write(f"{_NO_WRAP}\r{back}{drawn}{_REST_OF_SCREEN}{_WRAP}")
        self._stream.flush()
        self._drawn = len(shown)
