"""From what a transcript holds to what is kept of it: one line a message, sanitized and without its secrets."""

from __future__ import annotations

from collections import Counter

from exporter.redact import Redactor
from exporter.sanitize import collapse, sanitize
from exporter.transcript import Message


class Wording:
    """Words messages by the rules of one redactor. `found` counts the secrets by kind."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self.found = Counter[str]()

    def line(self, message: Message) -> str:
        """The line of a message; empty when it is no conversation."""
        # Once with its line breaks, for keys in blocks, and once as it is written, for values behind a line break.
        text = self._without_secrets(sanitize(message.role, message.text))
        line = collapse(text)
        return line if line == text else self._without_secrets(line)

    def _without_secrets(self, text: str) -> str:
        redacted = self._redactor.redact(text)
        self.found.update(redacted.counts)
        return redacted.text
