"""Exit codes, and how a failure is told: one line of what, one line of what next."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Any

import click

from sidecar.client import ClientError, DeadlineError, NotAllowedError, NotRunningError, RefusedError
from sidecar.places import HomelessError
from sidecar.wording.terminal import printable


class Exit(IntEnum):
    """What the exit code of every verb means."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    NOT_RUNNING = 3
    TIMEOUT = 4
    DENIED = 5
    UNAVAILABLE = 69
    CONFIGURATION = 78
    INTERRUPTED = 130


#: Each exit code in a word or two.
MEANINGS = {
    Exit.OK: "ok",
    Exit.FAILURE: "failure",
    Exit.USAGE: "usage",
    Exit.NOT_RUNNING: "not running",
    Exit.TIMEOUT: "timeout",
    Exit.DENIED: "denied",
    Exit.UNAVAILABLE: "engine unavailable",
    Exit.CONFIGURATION: "configuration",
    Exit.INTERRUPTED: "interrupted",
}
#: Shown at the end of `--help`.
EPILOG = f"Exit codes: {', '.join(f'{code} {meaning}' for code, meaning in MEANINGS.items())}."


class VerbError(Exception):
    """A verb that failed for a reason of its own; `exit_code` says of which class."""

    def __init__(self, exit_code: Exit, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.code = code
        self.message = message
        self.hint = hint

    def as_json(self) -> dict[str, Any]:
        """The failure in the form of the daemon's error envelope."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}


def exit_code(error: ClientError | VerbError) -> Exit:
    """The exit code that an error stands for."""
    match error:
        case VerbError():
            return error.exit_code
        case NotRunningError():
            return Exit.NOT_RUNNING
        case DeadlineError() | RefusedError(status=504):
            return Exit.TIMEOUT
        case NotAllowedError() | RefusedError(status=403):
            return Exit.DENIED
        case RefusedError(code="configuration"):
            return Exit.CONFIGURATION
        case RefusedError(status=503):
            return Exit.UNAVAILABLE
        case _:
            return Exit.FAILURE


def say(text: str) -> None:
    """Talk to the person: standard error, so that standard output stays data."""
    print(text, file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """The data of a verb, for programs."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def report(error: ClientError | VerbError, *, as_json: bool) -> Exit:
    """Tell an error on the right stream and give its exit code."""
    if as_json:
        print_json(error.as_json())
        return exit_code(error)
    for line in _told(error):
        # It may name an agent, and that may be called anything.
        say(printable(line))
    return exit_code(error)


def _told(error: ClientError | VerbError) -> Iterator[str]:
    yield error.message if isinstance(error, NotRunningError) else f"error: {error.message}"
    if isinstance(error, RefusedError):
        yield from (f"       {detail}" for detail in error.details if detail != error.message)
        yield f"       ({error.code}, request {error.request_id or 'without id'})"
    if error.hint:
        yield f"try: {error.hint}"


def verb(function: Callable[..., int | None]) -> Callable[..., None]:
    """Make a function the body of a verb: what it returns or raises becomes the exit code, told by `report`."""

    @functools.wraps(function)
    def run(**options: Any) -> None:
        try:
            code = function(**options)
        except (ClientError, VerbError) as error:
            code = report(error, as_json=bool(options.get("as_json")))
        except HomelessError as error:
            homeless = VerbError(Exit.CONFIGURATION, "no_home", str(error), hint="set HOME to a folder of this user")
            code = report(homeless, as_json=bool(options.get("as_json")))
        except KeyboardInterrupt:
            code = Exit.INTERRUPTED
        if code:
            raise click.exceptions.Exit(int(code))

    return run
