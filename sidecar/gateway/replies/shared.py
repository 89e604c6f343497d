"""Values that stand in replies of more than one kind."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field
from typing_extensions import TypedDict

from scope import ChatType, Kind

Engine: TypeAlias = Literal["qmd", "builtin"]
UnixTime = Annotated[float, Field(description="Unix time in seconds.")]
#: `from` is a word of Python, so that these fields cannot stand in a class.
_Origin = TypedDict("_Origin", {"from": str})


class Notice(TypedDict):
    """Something degraded that the caller should know: a stable code, a sentence, and what to do about it."""

    code: str
    message: str
    action: str


class Fallback(_Origin):
    """Why the first choice, `from`, did not answer."""

    reason: Annotated[str, Field(description="A stable word, such as `missing` or `timeout`.")]
    since: UnixTime


class EmbeddingFallback(Fallback):
    """Why the first embedding provider did not embed the question, and who did."""

    to: str | None


class Pending(TypedDict):
    """Files on disk that the index does not hold yet."""

    files: int
    oldestSeconds: Annotated[float, Field(description="How long the oldest of them has waited.")]


class Denied(TypedDict):
    """Why this session may not see this memory: about the caller and the policy, never about what exists."""

    rule: Annotated[str, Field(description="The rule that denies, or the verdict of the session key alone.")]
    channel: str | None
    chatType: ChatType | None
    kind: Annotated[Kind, Field(description="What kind of session the key names.")]
