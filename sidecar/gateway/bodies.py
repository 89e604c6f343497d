"""Requests: what a caller may send. Unknown fields are refused, so that a typo is not silently ignored."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, Self, TypeVar

import orjson
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel
from starlette.requests import Request

from sidecar.gateway.errors import Code, GatewayError


class Body(BaseModel):
    """Strict, camelCase, frozen."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        strict=True,
        validate_by_alias=True,
        validate_by_name=False,
    )


class Caller(Body):
    """Facts about the caller, kept for the log."""

    sandboxed: bool | None = None
    owner: bool | None = None
    channel: Annotated[str, Field(max_length=200)] | None = None

    def facts(self) -> dict[str, Any]:
        """What was said, for one line of the log: characters that could end it or colour it are blanks."""
        given = self.model_dump(exclude_none=True)
        return {key: _on_one_line(value) if isinstance(value, str) else value for key, value in given.items()}


def _on_one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


SessionKeyText = Annotated[str, Field(max_length=20_000)]


def _iso(value: Any) -> date:
    if not isinstance(value, str):
        raise ValueError("must be a date such as 2026-01-31")  # noqa: TRY004 - pydantic turns ValueErrors into findings
    return date.fromisoformat(value)


Day = Annotated[date, BeforeValidator(_iso)]


class SearchBody(Body):
    """`POST /v1/agents/{id}/memory_search`."""

    query: str
    max_results: Annotated[int, Field(ge=1, le=50)] | None = None
    min_score: Annotated[float, Field(ge=0, le=1)] | None = None
    session_key: SessionKeyText | None = None
    parent_session_key: SessionKeyText | None = None
    visible_sessions: Annotated[list[SessionKeyText], Field(max_length=10_000)] | None = None
    caller: Caller | None = None
    corpus: Literal["all", "memory", "sessions"] = "all"
    mode: Literal["search", "vsearch", "query"] | None = None
    after: Day | None = None
    before: Day | None = None
    timeout_ms: Annotated[int, Field(ge=1, le=600_000)] | None = None
    explain: bool = False

    @field_validator("query")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.replace("\0", " ").strip():
            raise ValueError("must hold at least one word")
        return value

    @field_validator("before")
    @classmethod
    def _leaves_a_day(cls, value: date | None, info: ValidationInfo) -> date | None:
        after = info.data.get("after")
        if value and after and value < after:
            raise ValueError("is earlier than `after`, so no day is left to search")
        return value


class GetBody(Body):
    """`POST /v1/agents/{id}/memory_get`. `from` is the first line, 1-based."""

    path: Annotated[str, Field(min_length=1, max_length=4096)]
    start: Annotated[int | None, Field(alias="from", ge=1)] = None
    lines: Annotated[int, Field(ge=1)] | None = None
    session_key: SessionKeyText | None = None
    parent_session_key: SessionKeyText | None = None


class ExplainBody(Body):
    """`POST /v1/scope/explain`. Keys as `memory_search` takes them; a missing one is explained, too."""

    agent: Annotated[str, Field(min_length=1, max_length=200)]
    session_key: SessionKeyText | None = None
    parent_session_key: SessionKeyText | None = None


class TriggersBody(Body):
    """`POST /v1/agents/{id}/triggers`. A message without words, such as a picture, brings nothing to mind."""

    message: str
    session_key: SessionKeyText | None = None
    parent_session_key: SessionKeyText | None = None


Count = Annotated[int, Field(ge=0, le=2**53)]


class SessionStartBody(Body):
    """`POST /v1/agents/{id}/session_start`."""

    session_key: SessionKeyText
    parent_session_key: SessionKeyText | None = None


class FlushedBody(Body):
    """Whose flush is meant: of which conversation under a key, and how many compactions it has had."""

    session_key: SessionKeyText
    parent_session_key: SessionKeyText | None = None
    session_id: Annotated[str, Field(max_length=200)] | None = None
    compaction_count: Count = 0


class FlushBody(FlushedBody):
    """`POST /v1/agents/{id}/memory_flush`. Sizes that the gateway does not know are left out."""

    context_window: Count
    total_tokens: Count | None = None
    transcript_bytes: Count | None = None
    workspace_access: Literal["rw", "ro", "none"]
    sandboxed: bool = False


class FlushResultBody(FlushedBody):
    """`POST /v1/agents/{id}/memory_flush/result`."""

    result: Literal["done", "failed", "aborted"]


class SyncBody(Body):
    """`POST /v1/agents/{id}/sync`. `estimate` does nothing but say what would be embedded."""

    force: bool = False
    embed: bool = True
    wait: bool = False
    estimate: bool = False


class ExportBody(Body):
    """`POST /v1/agents/{id}/export`. `dryRun` writes nothing; `since` passes over older transcripts."""

    dry_run: bool = False
    diff: bool = False
    since: Day | None = None


class PurgeBody(Body):
    """`POST /v1/agents/{id}/purge`: a session by its key or id, or what a pattern (RE2) matches; one of the two."""

    session: Annotated[SessionKeyText, Field(min_length=1)] | None = None
    pattern: Annotated[str, Field(min_length=1, max_length=10_000, repr=False)] | None = None
    dry_run: bool = False

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if (self.session is None) == (self.pattern is None):
            raise ValueError("name either a session or a pattern")
        return self


AnyBody = TypeVar("AnyBody", bound=Body)


def parse(model: type[AnyBody], raw: bytes) -> AnyBody:
    """Read a body. Raises `GatewayError` that names each wrong field, never its value."""
    try:
        value: Any = orjson.loads(raw or b"{}")
    except orjson.JSONDecodeError as error:
        raise GatewayError(
            Code.INVALID_JSON,
            f"the body is not JSON (line {error.lineno}, column {error.colno})",
            hint="send a JSON object",
        ) from None
    try:
        return model.model_validate(value)
    except ValidationError as error:
        findings = _findings(error)
        first = findings[0]
        raise GatewayError(
            Code.INVALID_REQUEST,
            f"{first['field'] or 'the body'}: {first['message']}",
            hint="correct the fields in `details`; fields that this route does not know are refused",
            details=findings,
        ) from None


def flag(request: Request, name: str) -> bool:
    """A flag in the query of a URL, `true` or `false`. Raises `GatewayError` for any other value."""
    match request.query_params.get(name, "false"):
        case "true":
            return True
        case "false":
            return False
    raise GatewayError(Code.INVALID_REQUEST, f"{name}: must be true or false", hint=f"ask with ?{name}=true")


def _findings(error: ValidationError) -> list[dict[str, str]]:
    rows = error.errors(include_url=False, include_context=False, include_input=False)
    return [
        {"field": ".".join(map(str, row["loc"]))[:200], "message": row["msg"].removeprefix("Value error, ")}
        for row in rows[:20]
    ]
