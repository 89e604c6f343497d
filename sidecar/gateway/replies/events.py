"""What a listener hears."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from backends.base import Failure
from sidecar.agents import AgentState
from sidecar.events import EventType
from sidecar.gateway.replies.shared import UnixTime


class Event(TypedDict):
    """One line of `/v1/events`. Which of the other fields there are depends on the type."""

    id: Annotated[int, Field(description="Grows; what to go on from with `after`, also on the next daemon.")]
    time: UnixTime
    type: EventType
    agent: NotRequired[str]
    state: NotRequired[AgentState]
    before: NotRequired[Annotated[AgentState, Field(description="The state that `state` took the place of.")]]
    code: NotRequired[Annotated[str, Field(description="Of the notice that appeared or is gone.")]]
    engine: NotRequired[str]
    reason: NotRequired[Annotated[str, Field(description="Why an engine failed over, or why a sync was begun.")]]
    changed: NotRequired[int]
    removed: NotRequired[int]
    embedded: NotRequired[int]
    error: NotRequired[Annotated[Failure, Field(description="Why a sync failed.")]]
    done: NotRequired[int]
    total: NotRequired[int]
    successful: NotRequired[Annotated[bool, Field(description="Whether a reload took the new configuration.")]]
    events: NotRequired[Annotated[int, Field(description="How many were dropped.")]]
