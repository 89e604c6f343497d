"""Requests: what a caller may send. Unknown fields are refused, so that a typo is not silently ignored."""

from __future__ import annotations

import difflib
import re
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
from pydantic_core import ErrorDetails
from starlette.requests import Request

from sidecar.doctor.catalogue import TITLES, CheckId
from sidecar.gateway.errors import Code, GatewayError

#: The greatest whole number that every reader of JSON holds exactly.
MAX_WHOLE = 2**53


class Body(BaseModel):
    """Strict, camelCase, frozen."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        strict=True,
        use_attribute_docstrings=True,
        validate_by_alias=True,
        validate_by_name=False,
    )

    @field_validator("*", mode="before")
    @classmethod
    def _whole(cls, value: Any) -> Any:
        """JSON has one kind of numbers: 6.0 is the whole number 6, and some languages write it so."""
        is_whole = isinstance(value, float) and value.is_integer() and abs(value) <= MAX_WHOLE
        return int(value) if is_whole else value


class Caller(Body):
    """Facts about the caller, kept for the log; `sandboxed` also narrows which conversations are seen."""

    sandboxed: bool | None = None
    owner: bool | None = None
    channel: Annotated[str, Field(max_length=200)] | None = None

    def facts(self) -> dict[str, Any]:
        """What was said, for one line of the log: characters that could end it or colour it are blanks."""
        given = self.model_dump(exclude_none=True)
        return {key: _on_one_line(value) if isinstance(value, str) else value for key, value in given.items()}


def _on_one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


Position = Annotated[int, Field(ge=1, le=MAX_WHOLE)]
Count = Annotated[int, Field(ge=0, le=MAX_WHOLE)]
SessionKeyText = Annotated[str, Field(max_length=20_000)]
#: Something to read. The rest is what only some dialects take for white space: one pattern for the schema and for us.
NOT_BLANK = r"[^\s\x00\x1c-\x1f\x85\ufeff]"


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _iso(value: Any) -> date:
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        raise ValueError("must be a date such as 2026-01-31")
    return date.fromisoformat(value)


Day = Annotated[date, BeforeValidator(_iso)]


class Reader(Body):
    """Who wants to see memory."""

    session_key: SessionKeyText | None = None
    """Who asks, such as `agent:main:main`; scope decides by it."""
    parent_session_key: SessionKeyText | None = None
    """The session for which a sub-agent works; its own key does not say who may read."""


class ConversationReader(Reader):
    """Who wants to see memory that conversations are part of."""

    visible_sessions: Annotated[list[SessionKeyText], Field(max_length=10_000)] | None = None
    """The sessions whose conversations the caller may see, beside its own and those that it started."""
    caller: Caller | None = None

    @property
    def is_sandboxed(self) -> bool:
        """Whether the caller is said to run in a sandbox."""
        return bool(self.caller and self.caller.sandboxed)


class SearchBody(ConversationReader):
    """`POST /v1/agents/{id}/memory_search`."""

    query: Annotated[str, Field(json_schema_extra={"pattern": NOT_BLANK})]
    """The question, in plain words; only the first 4,000 characters count."""
    max_results: Annotated[int, Field(ge=1, le=50)] | None = None
    """The configured number where left out."""
    min_score: Annotated[float, Field(ge=0, le=1)] | None = None
    """The least relevance of a result; the configured one where left out."""
    corpus: Literal["all", "memory", "sessions"] = "all"
    """Which part of memory to search."""
    mode: Literal["search", "vsearch", "query"] | None = None
    """How to search: by keywords, by vectors, or by both; the configured way where left out."""
    after: Day | None = None
    """The first day, in the user's time zone."""
    before: Day | None = None
    """The last day, in the user's time zone."""
    timeout_ms: Annotated[int, Field(ge=1, le=600_000)] | None = None
    """At most the configured time."""
    explain: bool = False
    """Also say how each score came about."""

    @field_validator("query")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not re.search(NOT_BLANK, value):
            raise ValueError("must hold at least one word")
        return value

    @field_validator("before")
    @classmethod
    def _leaves_a_day(cls, value: date | None, info: ValidationInfo) -> date | None:
        after = info.data.get("after")
        if value and after and value < after:
            raise ValueError("is earlier than `after`, so no day is left to search")
        return value


class GetBody(ConversationReader):
    """`POST /v1/agents/{id}/memory_get`."""

    path: Annotated[str, Field(min_length=1, max_length=4096)]
    """A path that `memory_search` returned, or a citation, which also names lines."""
    start: Annotated[Position | None, Field(alias="from")] = None
    """The first line, counted from 1."""
    lines: Position | None = None
    """How many lines: 200 where left out."""
    column: Position | None = None
    """The first character of that line, a code point counted from 1."""


class ExplainBody(Reader):
    """`POST /v1/scope/explain`. A missing key is explained, too."""

    agent: Annotated[str, Field(min_length=1, max_length=200)]
    """Whose memory it is about."""


class TriggersBody(Reader):
    """`POST /v1/agents/{id}/triggers`."""

    message: str
    """What was said; one without words, such as a picture, brings nothing to mind."""


class SessionStartBody(Reader):
    """`POST /v1/agents/{id}/session_start`."""


class FlushedBody(Reader):
    """Whose flush is meant: of which conversation under a key, and how many compactions it has had."""

    session_id: Annotated[str, Field(max_length=200)] | None = None
    """Tells the conversations apart that one key had."""
    compaction_count: Count = 0
    """How many compactions this conversation has had."""


class FlushBody(FlushedBody):
    """`POST /v1/agents/{id}/memory_flush`. Sizes that the gateway does not know are left out."""

    context_window: Count
    """In tokens."""
    total_tokens: Count | None = None
    """How many of them are used."""
    transcript_bytes: Count | None = None
    """How large the transcript is."""
    workspace_access: Literal["rw", "ro", "none"]
    """What the session may do with its workspace."""
    sandboxed: bool = False
    """Whether the session runs in a sandbox."""


class FlushResultBody(FlushedBody):
    """`POST /v1/agents/{id}/memory_flush/result`."""

    result: Literal["done", "failed", "aborted"]
    """How the silent turn went; `aborted` where the user broke it off."""


class SyncBody(Body):
    """`POST /v1/agents/{id}/sync`."""

    force: bool = False
    """Build anew what can be built anew."""
    embed: bool = True
    """Also compute missing vectors."""
    wait: bool = False
    """Answer when it is done, and not at once."""
    estimate: bool = False
    """Do nothing but say what would be embedded."""


class ExportBody(Body):
    """`POST /v1/agents/{id}/export`."""

    dry_run: bool = False
    """Write nothing, and say what would be written."""
    diff: bool = False
    """Also show what changes in the files."""
    since: Day | None = None
    """Pass over transcripts last written before this day, in the user's time zone."""


PatternText = Annotated[str, Field(min_length=1, max_length=10_000, json_schema_extra={"format": "regex"})]


class PurgeBody(Body):
    """`POST /v1/agents/{id}/purge`: names either a session or a pattern."""

    session: Annotated[SessionKeyText, Field(min_length=1)] | None = None
    """The key or the id of a session."""
    pattern: Annotated[PatternText | None, Field(repr=False)] = None
    """RE2; every turn that it matches is forgotten."""
    dry_run: bool = False
    """Remove nothing, and say what would be."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": [name], "properties": {name: {"type": "string"}, other: {"type": "null"}}}
                for name, other in (("session", "pattern"), ("pattern", "session"))
            ]
        }
    )

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if (self.session is None) == (self.pattern is None):
            raise ValueError("name either a session or a pattern")
        return self


class DoctorBody(Body):
    """Have the daemon examine itself."""

    only: Annotated[list[CheckId], Field(max_length=100)] | None = None
    """The checks to run, all when left out."""
    skip: Annotated[list[CheckId], Field(max_length=100)] = []
    """Checks to leave out."""
    deep: bool = False
    """Also ask the embedding providers, over the network."""
    fix: bool = False
    """Mend what is safe to mend: modes of our files, stale sockets and pointers, orphans."""
    shell_path: Annotated[str, Field(max_length=100_000)] | None = None
    """The PATH of whoever asks, to say of a qmd that is not on the daemon's own where it is."""

    @property
    def chosen(self) -> frozenset[CheckId]:
        """The checks to run."""
        return frozenset(TITLES if self.only is None else self.only) - {*self.skip}


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
        findings = _findings(error, model)
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


def whole(request: Request, name: str) -> int | None:
    """A whole number in the query of a URL; None where there is none. Raises `GatewayError` for anything else."""
    value = request.query_params.get(name)
    if value is None:
        return None
    if value.isascii() and value.isdigit() and len(value) <= 16 and int(value) <= MAX_WHOLE:
        return int(value)
    raise GatewayError(Code.INVALID_REQUEST, f"{name}: must be a whole number", hint=f"ask with ?{name}=0")


def _findings(error: ValidationError, model: type[Body]) -> list[dict[str, str]]:
    rows = error.errors(include_url=False, include_context=False, include_input=False)
    return [{"field": ".".join(map(str, row["loc"]))[:200], "message": _told(row, model)} for row in rows[:20]]


def _told(row: ErrorDetails, model: type[Body]) -> str:
    match row["type"]:
        case "model_type":
            # pydantic would name a class of ours.
            return "must be an object"
        case "missing":
            return "is missing"
        case "extra_forbidden":
            return _unknown(row["loc"], model)
        case _:
            return row["msg"].removeprefix("Value error, ")


def _unknown(at: tuple[int | str, ...], model: type[Body]) -> str:
    """That a field is unknown, with the nearest one of the body."""
    known = [field.alias or name for name, field in model.model_fields.items()]
    near = difflib.get_close_matches(str(at[0])[:200], known, n=1) if len(at) == 1 else []
    return f"no such field; did you mean {near[0]}?" if near else "no such field"
