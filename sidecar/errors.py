"""Errors that end the daemon before it serves.

StartupError     one sentence, one next step, one exit code
"""

from __future__ import annotations


class StartupError(Exception):
    """The daemon cannot start. `exit_code` is what the command line returns (78: the configuration is at fault)."""

    def __init__(self, code: str, message: str, *, hint: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.exit_code = exit_code

    def __str__(self) -> str:
        return f"error: {self.message}\ntry: {self.hint}"
