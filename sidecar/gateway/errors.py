"""The closed list of error codes, and the one envelope in which they leave.

GatewayError
├── code        stable, documented, one of `Code`
├── message     what is wrong with this request; never query or memory text
└── hint        what to do next
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any

import orjson
from starlette.responses import Response


class Code(Enum):
    """Every error code with its HTTP status, and what it says."""

    INVALID_HTTP = ("invalid_http", 400, "The request is not HTTP/1.1.")
    INVALID_JSON = ("invalid_json", 400, "The body is not JSON.")
    INVALID_REQUEST = ("invalid_request", 400, "A field is missing, wrong or unknown; `details` names each.")
    PATH_NOT_ALLOWED = ("path_not_allowed", 403, "The path is not part of the agent's memory.")
    UNREADABLE = ("unreadable", 403, "The file is there and cannot be read.")
    UNKNOWN_AGENT = ("unknown_agent", 404, "No agent has that id; `hint` names the nearest.")
    NO_QMD = ("no_qmd", 404, "The agent is searched without qmd.")
    NOT_FOUND = ("not_found", 404, "No route has that path.")
    METHOD_NOT_ALLOWED = ("method_not_allowed", 405, "The route takes another method; `Allow` names it.")
    REQUEST_TIMEOUT = ("request_timeout", 408, "The body did not come in time.")
    BODY_TOO_LARGE = ("body_too_large", 413, "The body is larger than 1 MiB.")
    CONFIGURATION = ("configuration", 422, "The configuration on disk is wrong; the previous one is still in force.")
    INTERNAL = ("internal", 500, "The daemon is at fault; its log has the request's id.")
    OVERLOADED = ("overloaded", 503, "Too many requests at once; `Retry-After` says in how many seconds to come back.")
    TIMEOUT = ("timeout", 504, "The disk did not answer in time.")

    def __init__(self, label: str, status: int, meaning: str) -> None:
        self.label = label
        self.status = status
        self.meaning = meaning


class GatewayError(Exception):
    """A request or a daemon that is wrong. Answers that are merely empty are not errors."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        hint: str,
        details: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.details = details
        self.headers = headers or {}


@contextmanager
def disk_deadline() -> Iterator[None]:
    """A disk that does not answer in time, as the caller is told."""
    try:
        yield
    except TimeoutError:
        raise GatewayError(
            Code.TIMEOUT, "the disk did not answer in time", hint="try again; see whether the disk is well"
        ) from None


def json_response(payload: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON body. `payload` may hold dataclasses, enums, dates and paths' strings."""
    body = orjson.dumps(payload, option=orjson.OPT_NON_STR_KEYS)
    return Response(body, status, headers=dict(headers or {}), media_type="application/json")


def fresh_request_id() -> str:
    """An id for a request that brought none."""
    return uuid.uuid4().hex[:16]


def envelope(error: GatewayError, request_id: str) -> Response:
    """The error as the client sees it."""
    payload = {
        "error": {
            "code": error.code.label,
            "message": error.message,
            "hint": error.hint,
            "requestId": request_id,
            "details": list(error.details),
        }
    }
    return json_response(payload, error.code.status, error.headers)
