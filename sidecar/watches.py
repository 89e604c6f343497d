"""What is watched for the agents: their notes, and the transcripts of those that remember conversations."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from backends.base import Notice
from backends.corpus import Corpus
from sidecar.agents import Agent
from sidecar.fleet import Fleet
from sidecar.sessions.following import Following, watched
from sidecar.watching import Watching

#: A disk that does not answer holds up the watch over it, and nothing else.
LAY_TIMEOUT_S = 5.0


class Watches:
    """Watches for every agent of a fleet that wants it; laid anew when the fleet is another one.

    `transcripts` says where an agent's transcripts are. What counts their lines runs in `pool`.
    """

    def __init__(self, fleet: Fleet, transcripts: Callable[[Agent], Path], pool: Executor) -> None:
        self._fleet = fleet
        self._transcripts = transcripts
        self._pool = pool
        self._running: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    async def lay(self) -> None:
        """Watch what the fleet has now, and wait until no change can pass by. What was watched before ends then."""
        async with self._turn:
            await self._lay()

    async def _lay(self) -> None:
        before, self._running = self._running, set()
        agents = [agent for agent in self._fleet if agent.enabled and agent.settings.search.sync.watch]
        notes = self._over_notes(agents)
        self._run(notes.run())
        self._run(self._follow())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAY_TIMEOUT_S):
                await notes.laid.wait()
        await _end(before)
        # The last word had, until now, the watch that has ended.
        _explain(agents, notes.notice)

    async def close(self) -> None:
        """Watch nothing any more."""
        ended, self._running = self._running, set()
        await _end(ended)

    def _run(self, watch: Coroutine[Any, Any, None]) -> None:
        self._running.add(asyncio.create_task(watch))

    def _over_notes(self, agents: Sequence[Agent]) -> Watching:
        corpora: Mapping[str, Corpus] = {agent.id: agent.corpus for agent in agents}

        def changed(agent_id: str, paths: frozenset[str]) -> None:
            # The one of that name that is there now, which may be another one.
            if (agent := self._fleet.get(agent_id)) is not None:
                agent.changed(paths)

        return Watching(corpora, changed, lambda notice: _explain(agents, notice))

    async def _follow(self) -> None:
        """Have enough of the conversations exported as they grow."""
        following = {agent.id: followed for agent in self._fleet if (followed := self._following(agent)) is not None}
        if not following:
            return
        corpora = {agent_id: watched(agent_id, each.folder) for agent_id, each in following.items()}
        try:
            await Watching(corpora, lambda agent_id, names: following[agent_id].heard(names)).run()
        finally:
            for each in following.values():
                each.close()

    def _following(self, agent: Agent) -> Following | None:
        sync = agent.settings.search.sync
        if not (agent.enabled and sync.watch and agent.conversations):
            return None
        folder = self._transcripts(agent)
        return Following(folder, agent.conversations, sync.sessions, agent.conversations_grew, self._pool)


def _explain(agents: Sequence[Agent], notice: Notice | None) -> None:
    for agent in agents:
        agent.watch_notice = notice


async def _end(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
