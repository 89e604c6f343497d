"""What is answered around the flush before a compaction."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from sidecar.gateway.replies.shared import Denied, Notice
from sidecar.tools.flush import Reason
from sidecar.tools.flush_ledger import Stage

Exhausted = Annotated[Notice, Field(description="After the third failure: a message for the user.")]


class FlushPlan(TypedDict):
    """What decides on a flush, and its texts, with the day left open as `YYYY-MM-DD`."""

    enabled: bool
    reserveTokensFloor: int
    softThresholdTokens: int
    forceFlushTranscriptBytes: Annotated[int, Field(description="0: however long the transcript is.")]
    systemPrompt: str
    prompt: str
    targetFile: str
    timezone: NotRequired[Annotated[str, Field(description="Whose day it is; the host's where left out.")]]


class FlushReply(TypedDict):
    """Whether to flush; the prompts and the note that the agent may add to only where `flush` is true."""

    flush: bool
    reason: Reason
    systemPrompt: NotRequired[str]
    prompt: NotRequired[str]
    targetFile: NotRequired[str]
    denied: NotRequired[Denied]
    notice: NotRequired[Exhausted]


class FlushResultReply(TypedDict):
    """How far the flush of this cycle is; `unknown` where none was granted."""

    state: Stage | Literal["unknown", "denied", "ledger_unusable"]
    failures: NotRequired[Annotated[int, Field(ge=0, description="Of this cycle.")]]
    denied: NotRequired[Denied]
    notice: NotRequired[Exhausted]
