"""The closed list of error codes, and the one envelope in which they leave.

GatewayError
├── code        stable, documented, one of `Code`
├── message     what is wrong with this request; never query or memory text
└── hint        what to do next
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import orjson
from starlette.responses import Response


class Code(Enum):
    """Every error code with its HTTP status."""

    INVALID_JSON = ("invalid_json", 400)
    INVALID_REQUEST = ("invalid_request", 400)
    PATH_NOT_ALLOWED = ("path_not_allowed", 403)
    UNREADABLE = ("unreadable", 403)
    UNKNOWN_AGENT = ("unknown_agent", 404)
    NO_QMD = ("no_qmd", 404)
    NOT_FOUND = ("not_found", 404)
    METHOD_NOT_ALLOWED = ("method_not_allowed", 405)
    REQUEST_TIMEOUT = ("request_timeout", 408)
    BODY_TOO_LARGE = ("body_too_large", 413)
    OVERLOADED = ("overloaded", 503)
    NOT_READY = ("not_ready", 503)
    TIMEOUT = ("timeout", 504)
    INTERNAL = ("internal", 500)

    def __init__(self, label: str, status: int) -> None:
        self.label = label
        self.status = status


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


def slow_disk() -> GatewayError:
    """A deadline passed while the disk was asked."""
    return GatewayError(Code.TIMEOUT, "the disk did not answer in time", hint="try again; see whether the disk is well")


def json_response(payload: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON body. `payload` may hold dataclasses, enums, dates and paths' strings."""
    body = orjson.dumps(payload, option=orjson.OPT_NON_STR_KEYS)
    return Response(body, status, headers=dict(headers or {}), media_type="application/json")


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
