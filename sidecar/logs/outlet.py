"""Where all loggers end: each record that is no repetition goes into every pipe."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from sidecar.logs.entry import entry_of
from sidecar.logs.pipe import Pipe
from sidecar.logs.repeats import RepeatedWarnings


class Outlet(logging.Handler):
    """The one handler of the root logger."""

    def __init__(self) -> None:
        super().__init__()
        self.pipes: Sequence[Pipe] = ()
        self._repeats = RepeatedWarnings()

    def emit(self, record: logging.LogRecord) -> None:
        """Hand a record over, with how many like it were passed over before; never waits."""
        repeated = self._repeats.count(record)
        if repeated is None:
            return
        entry = {**entry_of(record), **({"repeated": repeated} if repeated else {})}
        for pipe in self.pipes:
            pipe.put(record.levelno, entry)

    def close(self) -> None:
        """Have every pipe write what waits, as far as its place takes it in time."""
        for pipe in self.pipes:
            pipe.close()
        super().close()
