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
    forgotten: Annotated[Count, Field(description="Of deleted or purged sessions, and there (again).")]
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


class Remaining(TypedDict):
    """A file that still holds it."""

    file: str
    count: Count


class RemainingNote(TypedDict):
    """A note of the user's that still holds it, and is never written."""

    file: str
    lines: Count


class HoldingTranscript(TypedDict):
    """A transcript of the gateway's that holds it, and is never written."""

    file: str
    turns: Count


class Purged(TypedDict):
    """What was forgotten, or with `dryRun` would be, in counts alone, and the proof."""

    sessions: Count
    turns: Count
    chunks: Count
    vectors: Count
    cached: Annotated[Count, Field(description="Vectors in the cache.")]
    lookedFor: Annotated[Count, Field(description="Texts of which none may be left; with 0 nothing is proven.")]
    filesScanned: Count
    bytes: Count
    remaining: list[Remaining]
    notes: list[RemainingNote]
    transcripts: list[HoldingTranscript]
    unread: Annotated[list[str], Field(description="Files that could not be looked into.")]
    failures: Annotated[list[Notice], Field(description="Engines that could not follow.")]
    done: Annotated[bool, Field(description="Nothing remains, and everything was looked at.")]


class PurgeReply(TypedDict):
    """What was forgotten; nothing where conversations are no part of the memory."""

    purge: NotRequired[Purged]
    notices: list[Notice]
