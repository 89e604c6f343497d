"""What is wrong with a configuration, and where.

A `Finding` is one remark about one key. Errors stop the daemon, warnings become notices; a
`ConfigError` carries every error of a file at once, so that one edit can mend them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """`ERROR` stops the daemon; `WARNING` is told and lived with."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One remark. `key` is a path like `memory.qmd.limits.maxResults`; `line` is 1-based. Values are never quoted."""

    severity: Severity
    code: str
    key: str
    message: str
    hint: str = ""
    file: str | None = None
    line: int | None = None

    @property
    def place(self) -> str:
        """`file:line`, as far as it is known."""
        return ":".join(str(part) for part in (self.file, self.line) if part is not None)

    @property
    def advice(self) -> str:
        """The message, and the hint where there is one."""
        return self.message + (f" ({self.hint})" if self.hint else "")

    def __str__(self) -> str:
        """One line for a terminal: place, key, message and hint."""
        head = " ".join(part for part in (self.place, self.key) if part)
        return f"{head}: {self.advice}"


class ConfigError(Exception):
    """The configuration cannot be used. `findings` holds at least one error."""

    code = "configuration"

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("\n".join(str(finding) for finding in findings))
        self.findings = tuple(findings)
