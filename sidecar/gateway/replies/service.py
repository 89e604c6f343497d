"""What the daemon tells about itself."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypeAlias

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


class LastReload(TypedDict):
    """The last time that the configuration was read again."""

    at: UnixTime
    ok: Annotated[bool, Field(description="False where it was wrong; `notices` say how.")]


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
    lastReload: NotRequired[LastReload]
    notices: list[Notice]


class ReloadedAgents(TypedDict):
    """The agents by what became of them. One that was rebuilt has new engines on the same indexes."""

    added: list[str]
    removed: Annotated[list[str], Field(description="Their indexes stay on disk.")]
    rebuilt: list[str]
    kept: list[str]


class ReloadReply(TypedDict):
    """What reading the configuration again has changed."""

    changed: Annotated[list[str], Field(description="The keys with another value than before, in force now.")]
    needsRestart: Annotated[
        list[str],
        Field(description="The keys with another value than at the start, without effect until then."),
    ]
    agents: ReloadedAgents
    notices: list[Notice]


class Stopping(TypedDict):
    """The stop has begun."""

    stopping: bool
