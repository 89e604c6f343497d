"""What the daemon tells about itself."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field
from typing_extensions import TypedDict

from sidecar.agents import AgentState
from sidecar.gateway.replies.agents import AgentStatus, WorkerStatus
from sidecar.gateway.replies.shared import Notice, UnixTime

DaemonState: TypeAlias = Literal["starting", "ready", "draining"]


class Alive(TypedDict):
    """The loop answers."""

    alive: bool


class Readiness(TypedDict):
    """Whether every agent has an engine that can answer; the status is 503 where it has not."""

    ready: bool
    state: DaemonState
    degraded: Annotated[bool, Field(description="An agent is searched by less than what is configured.")]
    agents: dict[str, AgentState]


class Info(TypedDict):
    """The process and its folders."""

    name: str
    version: str
    pid: int
    startedAt: UnixTime
    uptimeSeconds: float
    stateDir: str
    socket: str
    config: Annotated[str | None, Field(description="The file that was read; null where there was none.")]
    python: str
    platform: str


class DaemonStatus(TypedDict):
    """The daemon with all its agents."""

    state: DaemonState
    version: str
    pid: int
    rssBytes: int
    uptimeSeconds: float
    socket: str
    stateDir: str
    config: str | None
    agents: list[AgentStatus]
    worker: WorkerStatus
    notices: list[Notice]


class Stopping(TypedDict):
    """The stop has begun."""

    stopping: bool
