"""Secrets out of the log: a provider's message may quote the key that it refuses."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from exporter import Redactor


class LazyRedactor:
    """A `Redactor` that is made for the first text, on the thread that writes: the rules take 0.1 s to compile."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: tuple[Sequence[str], Sequence[str]] = ((), ())
        self._redactor: Redactor | None = None

    def become(self, patterns: Sequence[str], allow: Sequence[str]) -> None:
        """Go by other patterns of the operator's."""
        with self._lock:
            if self._rules != (patterns, allow):
                self._rules, self._redactor = (patterns, allow), None

    def __call__(self, text: str) -> str:
        """The text without its secrets."""
        with self._lock:
            self._redactor = self._redactor or Redactor(*self._rules)
            redactor = self._redactor
        return redactor.redact(text).text
