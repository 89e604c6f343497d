"""All agents of the daemon, by id."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

from sidecar.agents import Agent


class Fleet:
    """The agents that the configuration names. Lookups are exact: an id that is nearly right is another id."""

    def __init__(self, agents: Iterable[Agent] = ()) -> None:
        self._agents = {agent.id: agent for agent in agents}

    def __iter__(self) -> Iterator[Agent]:
        # Of a moment: agents come and go while somebody goes through them.
        return iter(tuple(self._agents.values()))

    def get(self, agent_id: str) -> Agent | None:
        """The agent of that id."""
        return self._agents.get(agent_id)

    def become(self, agents: Iterable[Agent]) -> None:
        """Have these agents and no others, in this order, from this moment on."""
        self._agents = {agent.id: agent for agent in agents}

    @property
    def ids(self) -> list[str]:
        """Every configured id."""
        return list(self._agents)

    @property
    def ready(self) -> bool:
        """Whether every agent has an engine that can answer."""
        return all(agent.ready for agent in self)

    @property
    def holds(self) -> bool:
        """Whether every agent that is not just being indexed for the first time has an engine that can answer."""
        return all(agent.ready or agent.syncs.beginning for agent in self)

    async def close(self) -> None:
        """Close all agents at once."""
        await asyncio.gather(*(agent.close() for agent in self))
