"""A small synchronous client of the daemon's Unix socket, on the standard library alone.

    Client(socket).search("main", query="when does the boat leave?")

Every call has one deadline for the whole exchange. Errors:

    ClientError
    ├── NotRunningError     nobody listens at the socket
    ├── NotAllowedError     this user may not open the socket
    ├── DeadlineError       no complete reply before the deadline
    ├── BadReplyError       something answered that is not this daemon
    └── RefusedError        the daemon answered with its error envelope
"""

from __future__ import annotations

import contextlib
import errno
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote


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


class _UnixConnection(HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        """Open the socket; `HTTPConnection` closes it."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class Client:
    """The daemon behind one socket. `timeout_s` bounds each call as a whole; every method raises `ClientError`."""

    def __init__(self, path: Path, *, timeout_s: float = 60.0) -> None:
        self.path = path
        self.timeout_s = timeout_s

    def knock(self) -> None:
        """Only see whether somebody listens. Raises `NotRunningError` or `NotAllowedError`."""
        connection = _UnixConnection(self.path, self.timeout_s)
        with contextlib.closing(connection), self._failures_named():
            connection.connect()

    def info(self) -> dict[str, Any]:
        """The process: version, pid, folders."""
        return self.call("GET", "/v1/info")

    def status(self, agent: str | None = None, *, deep: bool = False) -> dict[str, Any]:
        """The state of the daemon with all its agents, or of one agent; `deep` tries their embedding providers, too."""
        path = "/v1/status" if agent is None else f"{_agent(agent)}/status"
        return self.call("GET", f"{path}?deep=true" if deep else path)

    def agents(self) -> list[dict[str, Any]]:
        """The configured agents: `{id, workspace, backend, state}` each."""
        listed = self.call("GET", "/v1/agents").get("agents")
        return list(listed) if isinstance(listed, list) else []

    def environment(self, agent: str) -> dict[str, str]:
        """The variables that let a person's own qmd use an agent's index. `RefusedError` when it has no qmd."""
        variables = self.call("GET", f"{_agent(agent)}/env").get("environment")
        if not isinstance(variables, dict):
            raise BadReplyError("the daemon's reply holds no environment", hint="qmd-sidecar version")
        return {str(name): str(value) for name, value in variables.items()}

    def search(self, agent: str, **body: Any) -> dict[str, Any]:
        """`memory_search`; the fields are those of the HTTP body, and None means left out."""
        return self.call("POST", f"{_agent(agent)}/memory_search", body)

    def get(self, agent: str, **body: Any) -> dict[str, Any]:
        """`memory_get`; the fields are those of the HTTP body, and None means left out."""
        return self.call("POST", f"{_agent(agent)}/memory_get", body)

    def sync(self, agent: str, **body: Any) -> dict[str, Any]:
        """Bring an agent's indexes up to date: `force`, `embed`, `wait`; `estimate` only tells what it takes."""
        return self.call("POST", f"{_agent(agent)}/sync", body)

    def explain_scope(self, **body: Any) -> dict[str, Any]:
        """Whether a session may read, and why: `agent`, `sessionKey`, `parentSessionKey`."""
        return self.call("POST", "/v1/scope/explain", body)

    def export(self, agent: str, **body: Any) -> dict[str, Any]:
        """Export an agent's conversations: `dryRun`, `diff`, `since`; a reply without `export` says why not."""
        return self.call("POST", f"{_agent(agent)}/export", body)

    def purge(self, agent: str, **body: Any) -> dict[str, Any]:
        """Have conversations forgotten: `session` or `pattern`, `dryRun`; a reply without `purge` says why not."""
        return self.call("POST", f"{_agent(agent)}/purge", body)

    def doctor(self, **body: Any) -> dict[str, Any]:
        """Have the daemon examine itself: `only`, `skip`, `deep`, `fix`, `shellPath`."""
        return self.call("POST", "/v1/doctor", body)

    def reload(self) -> dict[str, Any]:
        """Have the daemon read its configuration again. `RefusedError` (`configuration`) when that is wrong."""
        return self.call("POST", "/v1/reload", {})

    def metrics(self) -> str:
        """What is measured, in the text form of Prometheus."""
        status, raw = self._exchange("GET", "/metrics", None)
        if status >= 400:
            self._read("GET", "/metrics", status, raw)
        return raw.decode("utf-8", errors="replace")

    def shutdown(self) -> dict[str, Any]:
        """Ask the daemon to drain and stop; it answers before it does."""
        return self.call("POST", "/v1/shutdown", {})

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """One exchange; returns the JSON object of the reply."""
        sent = None if body is None else {key: _text(value) for key, value in body.items() if value is not None}
        status, raw = self._exchange(method, path, None if sent is None else json.dumps(sent).encode())
        return self._read(method, path, status, raw)

    def _read(self, method: str, path: str, status: int, raw: bytes) -> dict[str, Any]:
        try:
            reply = json.loads(raw)
        except ValueError:
            reply = None
        if not isinstance(reply, dict):
            raise BadReplyError(f"the reply to {method} {path} (HTTP {status}) is not a JSON object", hint=self._who())
        if status >= 400:
            error = reply.get("error")
            raise RefusedError(status, error if isinstance(error, dict) else {})
        return reply

    def _exchange(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        headers = {"Accept": "application/json"} | ({"Content-Type": "application/json"} if body is not None else {})
        connection = _UnixConnection(self.path, self.timeout_s)
        with contextlib.closing(connection), self._failures_named():
            connection.connect()
            with _deadline(connection.sock, self.timeout_s):
                connection.request(method, path, body=body, headers=headers)
                response = connection.getresponse()
                return response.status, response.read()

    @contextlib.contextmanager
    def _failures_named(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            raise DeadlineError(self.timeout_s) from None
        except (HTTPException, ConnectionResetError, BrokenPipeError) as error:
            raise BadReplyError(
                f"the connection broke before the reply ({type(error).__name__})", hint=self._who()
            ) from None
        except PermissionError:
            raise NotAllowedError(self.path) from None
        except OSError as error:
            raise NotRunningError(self.path, why=_why_unreachable(error)) from None

    def _who(self) -> str:
        return f"see which process listens at {self.path}"


def _agent(agent: str) -> str:
    """The path of one agent; an id may hold any character."""
    return f"/v1/agents/{quote(agent, safe='', errors='surrogateescape')}"


def _text(value: Any) -> Any:
    """A value that JSON can carry: of a command line, bytes that its locale cannot spell arrive as half characters."""
    if not isinstance(value, str) or value.isascii():
        return value
    with contextlib.suppress(UnicodeEncodeError):  # other half characters are the caller's own, and refused
        return value.encode(errors="surrogateescape").decode(errors="replace")
    return value


def _why_unreachable(error: OSError) -> str:
    match error.errno:
        case errno.ECONNREFUSED:
            return "nobody listens"
        case errno.ENOENT | errno.ENOTDIR:
            return "no socket"
        case _:
            # A path over the length of sockaddr_un has no errno, only a message.
            return error.strerror or str(error)


@contextlib.contextmanager
def _deadline(sock: socket.socket, timeout_s: float) -> Iterator[None]:
    """Bound the whole exchange: the time-out of a socket starts anew with every byte that trickles in."""
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(timeout_s, expire)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, HTTPException):
        if expired.is_set():
            raise TimeoutError from None
        raise
    finally:
        timer.cancel()
