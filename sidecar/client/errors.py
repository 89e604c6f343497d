"""What a call can end with instead of an answer.

ClientError
├── NotRunningError     nobody listens at the socket
├── NotAllowedError     this user may not open the socket
├── DeadlineError       no complete reply before the deadline
├── BadReplyError       something answered that is not this daemon
└── RefusedError        the daemon answered with its error envelope
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sidecar.client.wire import BrokenOffError, NonsenseError


class ClientError(Exception):
    """A call that brought no answer: a stable `code`, a message, and the next step in `hint`."""

    code = "client_error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def as_json(self) -> dict[str, Any]:
        """The error in the form in which the daemon itself reports errors."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}


class NotRunningError(ClientError):
    """Nobody listens at the socket."""

    code = "not_running"

    def __init__(self, path: Path, *, why: str = "no socket") -> None:
        super().__init__(f"qmd-sidecar is not running ({why} at {path}).", hint="qmd-sidecar run")
        self.path = path

    def as_json(self) -> dict[str, Any]:
        """Not running is a first-class answer, not an error envelope."""
        return {"running": False, "socket": str(self.path)}


class NotAllowedError(ClientError):
    """The socket may not be opened by this user: the daemon belongs to somebody else."""

    code = "socket_denied"

    def __init__(self, path: Path) -> None:
        super().__init__(f"permission denied at {path}", hint="run this as the user who runs the daemon")


class DeadlineError(ClientError):
    """No complete reply came before the deadline."""

    code = "timeout"

    def __init__(self, timeout_s: float) -> None:
        super().__init__(f"no answer within {timeout_s:g} s", hint="qmd-sidecar status")


class BadReplyError(ClientError):
    """Something answered that does not speak this daemon's protocol."""

    code = "bad_reply"


class RefusedError(ClientError):
    """The daemon's error envelope: `status` is the HTTP status, `code` one of the documented codes."""

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        super().__init__(str(body.get("message") or f"HTTP {status}"), hint=str(body.get("hint") or ""))
        self.status = status
        self.code = str(body.get("code") or f"http_{status}")
        self.request_id = str(body.get("requestId") or "")
        self.body = dict(body)

    @property
    def details(self) -> list[str]:
        """What is wrong with each field, `field: message`."""
        rows = self.body.get("details")
        return [
            f"{row.get('field', '')}: {row.get('message', '')}"
            for row in (rows if isinstance(rows, list) else [])
            if isinstance(row, dict)
        ]

    def as_json(self) -> dict[str, Any]:
        """The envelope as the daemon sent it."""
        return {"error": self.body}


@contextmanager
def failures_named(path: Path, timeout_s: float) -> Iterator[None]:
    """Turn what sockets and replies raise into a `ClientError` about the socket at `path`."""
    try:
        yield
    except TimeoutError:
        raise DeadlineError(timeout_s) from None
    except (BrokenOffError, NonsenseError) as error:
        raise BadReplyError(str(error), hint=f"see which process listens at {path}") from None
    except PermissionError:
        raise NotAllowedError(path) from None
    except OSError as error:
        if error.errno in {errno.EMFILE, errno.ENFILE}:
            raise ClientError(f"no file is left to open a socket with ({error.strerror})", hint="ulimit -n") from None
        raise NotRunningError(path, why=_why_unreachable(error)) from None


def _why_unreachable(error: OSError) -> str:
    match error.errno:
        case errno.ECONNREFUSED:
            return "nobody listens"
        case errno.ENOENT | errno.ENOTDIR:
            return "no socket"
        case _:
            # A path over the length of sockaddr_un has no errno, only a message.
            return error.strerror or str(error)
