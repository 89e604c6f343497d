"""What is told about conversations as files."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from sidecar.gateway.replies.shared import Notice

Name = Annotated[str, Field(description="Of the transcript.")]
Count = Annotated[int, Field(ge=0)]


class ExportChange(TypedDict):
    """An export that was written or removed, with its new turns and the secrets that were redacted in them."""

    name: Name
    action: Literal["write", "remove"]
    turns: Count
    redacted: Count


class ExportFailure(TypedDict):
    """A transcript that was not exported, or with an empty `name` all of them."""

    name: Name
    code: str
    reason: str


class Export(TypedDict):
    """One run over an agent's transcripts. Counts are of transcripts where nothing else is said."""

    written: Count
    unchanged: Count
    empty: Annotated[Count, Field(description="Without a turn.")]
    mostlyEmpty: Annotated[bool, Field(description="They are suspiciously many.")]
    removed: Count
    expired: Annotated[Count, Field(description="Beyond retention.")]
    leftOut: Annotated[Count, Field(description="Of cron runs, heartbeats and sub-agents.")]
    passedOver: Annotated[Count, Field(description="Last written before `since`.")]
    turns: Annotated[Count, Field(description="Read this time.")]
    badLines: Annotated[Count, Field(description="Read this time, and not understood.")]
    readBytes: Count
    failed: Count
    redacted: Annotated[dict[str, int], Field(description="Secrets, by kind.")]
    changes: Annotated[list[ExportChange], Field(description="The first 200.")]
    failures: Annotated[list[ExportFailure], Field(description="The first 200.")]
    diff: Annotated[str, Field(description="What changes in the files, redacted; empty where it was not asked for.")]
    diffCut: Annotated[bool, Field(description="`diff` is not all.")]


class ExportReply(TypedDict):
    """What was done, or with `dryRun` would be; nothing where conversations are no part of the memory."""

    export: NotRequired[Export]
    notices: list[Notice]
