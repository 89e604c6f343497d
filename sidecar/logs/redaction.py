"""Secrets out of the log: a provider's message may quote the key that it refuses."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from exporter import Redactor

#: Most texts of a log are the same few words; a look at one costs more than the rest of its line.
MOST_KNOWN = 500
_LONGEST_KNOWN = 100


class LazyRedactor:
    """A `Redactor` that is made for the first text, on the thread that writes: the rules take 0.1 s to compile.

    Short texts that hold no secret are remembered, some hundreds of them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: tuple[Sequence[str], Sequence[str]] = ((), ())
        self._redactor: Redactor | None = None
        self._known: set[str] = set()

    def become(self, patterns: Sequence[str], allow: Sequence[str]) -> None:
        """Go by other patterns of the operator's."""
        with self._lock:
            if self._rules != (patterns, allow):
                self._rules, self._redactor = (patterns, allow), None
                self._known.clear()

    def __call__(self, text: str) -> str:
        """The text without its secrets."""
        if text in self._known:
            return text
        with self._lock:
            self._redactor = redactor = self._redactor or Redactor(*self._rules)
        redacted = redactor.redact(text).text
        with self._lock:
            # Other rules may hold by now.
            if redacted == text and len(text) <= _LONGEST_KNOWN and redactor is self._redactor:
                self._remember(text)
        return redacted

    def _remember(self, text: str) -> None:
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known.add(text)
