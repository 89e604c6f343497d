"""The daemon at one moment, taken on the event loop, from which metrics are read on a thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from sidecar.agents import Agent
from sidecar.configured import Attempt, Configured
from sidecar.fleet import Fleet
from sidecar.gateway.places import Places
from sidecar.metrics.counts import Counts


class Sources(Protocol):
    """Where the moment is taken from."""

    @property
    def fleet(self) -> Fleet:
        """The agents."""
        ...

    @property
    def configured(self) -> Configured:
        """The configuration, and how the last reload went."""
        ...

    @property
    def counts(self) -> Counts:
        """What is counted as it happens."""
        ...

    @property
    def places(self) -> Places:
        """The places for requests."""
        ...

    @property
    def started_at(self) -> float:
        """Unix seconds."""
        ...

    @property
    def state(self) -> Callable[[], str]:
        """`starting`, `ready` or `draining`."""
        ...

    @property
    def worker_status(self) -> Callable[[], dict[str, Any]]:
        """The fields of a `WorkerStatus`."""
        ...


@dataclass(frozen=True, slots=True)
class AgentScene:
    """One agent and its status, which has the fields of an `AgentStatus`. Of the agent itself only counts are read."""

    agent: Agent
    status: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The agent's id."""
        return self.agent.id

    def engine(self, name: str) -> Mapping[str, Any]:
        """What the status says of an engine; nothing where the agent has none of that name."""
        facts: Mapping[str, Any] = self.status["engines"].get(name, {})
        return facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The daemon. `worker` has the fields of a `WorkerStatus`; `places` are for requests, `reload` is the last one."""

    agents: tuple[AgentScene, ...]
    worker: Mapping[str, Any]
    reload: Attempt | None
    state: str
    started_at: float
    places: Places
    counts: Counts


def take(sources: Sources) -> Scene:
    """Take it now. An agent that cannot be asked is left out, and counted."""
    return Scene(
        agents=tuple(_agents(sources)),
        worker=sources.worker_status(),
        reload=sources.configured.last,
        state=sources.state(),
        started_at=sources.started_at,
        places=sources.places,
        counts=sources.counts,
    )


def _agents(sources: Sources) -> Iterator[AgentScene]:
    for agent in sources.fleet:
        try:
            yield AgentScene(agent, agent.status())
        except Exception as error:  # noqa: BLE001 - one agent must not hide the others
            sources.counts.unreadable("agent", error)
