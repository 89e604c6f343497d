"""What the tools that read memory answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from backends.base import Mode, Source
from backends.corpus import Kind
from sidecar.gateway.replies.shared import Denied, EmbeddingFallback, Engine, Fallback, Notice, Pending
from sidecar.tools.outcomes import Outcome
from sidecar.tools.triggers import MAX_ENTRIES

Line = Annotated[int, Field(ge=1, description="Counted from 1, inclusive.")]
Column = Annotated[int, Field(ge=1, description="A code point of the line, counted from 1.")]
Relevance = Annotated[float, Field(ge=0, le=1, description="0 to 1; means the same on every engine.")]
MediaType = Annotated[str, Field(description="Of an image or a recording, which has no text.")]


class Provenance(TypedDict):
    """Where a passage comes from."""

    root: Annotated[str, Field(description="The name of the configured folder.")]
    kind: Kind
    trusted: Annotated[bool, Field(description="False for text that did not come from the agent or its owner.")]


class Conversation(TypedDict):
    """The transcript that a passage was said in."""

    id: Annotated[str, Field(description="The session's id, as the transcript is named.")]
    date: NotRequired[Annotated[str, Field(description="The day, in the user's time zone.")]]
    line: NotRequired[Annotated[int, Field(ge=1, description="The line of the transcript.")]]
    key: NotRequired[Annotated[str, Field(description="The session's key; for the operator alone.")]]


class Result(TypedDict):
    """One passage that answers, read back from its file."""

    path: Annotated[str, Field(description="What `memory_get` takes.")]
    startLine: Line
    endLine: Line
    score: Relevance
    snippet: Annotated[str, Field(description="The lines themselves, with their source below where that is wanted.")]
    source: Source
    citation: NotRequired[Annotated[str, Field(description="`path#L3-L7`; `memory_get` takes it as it stands.")]]
    corpus: Source
    provenance: Provenance
    session: NotRequired[Conversation]
    partial: NotRequired[Annotated[bool, Field(description="The best part of a line that is too long to be shown.")]]
    column: NotRequired[Annotated[Column, Field(description="Where that part begins, a code point counted from 1.")]]
    newer: NotRequired[Annotated[str, Field(description="The line of another result that says something newer.")]]
    media: NotRequired[MediaType]
    vectorScore: NotRequired[float]
    textScore: NotRequired[float]
    explain: NotRequired[dict[str, Any]]


class EmbeddingBootstrap(TypedDict):
    """Why the question was not embedded."""

    provider: Annotated[str | None, Field(description="Who was to embed it.")]
    code: str
    reason: str


class Debug(TypedDict):
    """For whoever looks after the daemon; no part of it is for an agent."""

    embeddingBootstrap: NotRequired[EmbeddingBootstrap]
    warning: NotRequired[str]
    action: NotRequired[str]
    error: NotRequired[str]


class SearchReply(TypedDict):
    """What was found, by whom, and why it is not more."""

    results: Annotated[list[Result], Field(description="Best first.")]
    outcome: Outcome
    backend: Annotated[Engine | None, Field(description="The engine that answered.")]
    provider: Annotated[str | None, Field(description="Who embedded the question.")]
    model: str | None
    mode: Mode | None
    citations: Literal["auto", "on", "off"]
    fallback: NotRequired[Fallback]
    embeddingFallback: NotRequired[EmbeddingFallback]
    denied: NotRequired[Denied]
    pending: NotRequired[Pending]
    notices: list[Notice]
    debug: NotRequired[Debug]
    disabled: NotRequired[bool]
    unavailable: NotRequired[bool]
    error: NotRequired[str]
    reason: NotRequired[Annotated[str, Field(description="The class of the failure, a stable word.")]]
    warning: NotRequired[Annotated[str, Field(description="What an agent is to tell its user.")]]
    action: NotRequired[Annotated[str, Field(description="What can be done.")]]
    explain: NotRequired[dict[str, Any]]
    tookMs: float
    requestId: str


#: `from` is a word of Python, so that this field cannot stand in a class.
_Start = TypedDict("_Start", {"from": NotRequired[Line]})


class GetReply(_Start):
    """Lines of one file, `from` the first of them. A file that is not there has no text, and no `from`."""

    path: str
    text: str
    lines: NotRequired[Annotated[int, Field(description="How many lines `text` holds.")]]
    truncated: NotRequired[Annotated[bool, Field(description="There is more, below or in the line itself.")]]
    partial: NotRequired[Annotated[bool, Field(description="The text is a part of a single line.")]]
    nextColumn: NotRequired[Column]
    nextFrom: NotRequired[Annotated[int, Field(ge=1, description="The line to go on from.")]]
    media: NotRequired[MediaType]
    outcome: NotRequired[Literal["denied"]]
    denied: NotRequired[Denied]
    disabled: NotRequired[bool]
    error: NotRequired[str]


class Note(TypedDict):
    """A note of a day, there or not."""

    path: str
    exists: bool


class SessionStartReply(TypedDict):
    """What a session that begins may load."""

    load: Annotated[list[Note], Field(description="The notes of today and yesterday, where they could be read.")]
    memoryMd: Annotated[Literal["allowed", "denied"], Field(description="Whether `MEMORY.md` may be loaded.")]
    citationHint: NotRequired[Annotated[str, Field(description="A sentence for the prompt.")]]
    sync: Literal["queued", "off"]
    denied: NotRequired[Denied]


class Entry(TypedDict):
    """One entry of a curated file, without its annotations."""

    path: str
    startLine: Line
    endLine: Line
    text: str
    score: Relevance
    trigger: Annotated[str, Field(description="The phrase of the entry that the message spoke of.")]
    partial: NotRequired[Annotated[bool, Field(description="The end of the entry did not fit.")]]


class TriggersReply(TypedDict):
    """What a message brings to mind."""

    entries: Annotated[list[Entry], Field(max_length=MAX_ENTRIES, description="Best first.")]
    skipped: NotRequired[Annotated[Literal["heartbeat", "cron", "hook"], Field(description="Nobody speaks there.")]]
    denied: NotRequired[Denied]
    disabled: NotRequired[bool]
    error: NotRequired[str]
    notices: NotRequired[Annotated[list[Notice], Field(description="Which files could not be read.")]]
    requestId: str
