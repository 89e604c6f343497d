"""From one configuration to the next while the daemon runs: agent by agent, and only where something differs.

An agent whose recipe stays the same is not touched. One that is made anew first ends its syncs, so that no two of one
name write to the same index; then the new one takes all new requests, and the old one is closed once its last caller
has left. A configuration that is wrong changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sidecar.agents import Agent
from sidecar.assembly import Assembly, Recipe, recipes_of
from sidecar.config import ConfigError, Settings
from sidecar.configured import Attempt, Configured
from sidecar.fleet import Fleet
from sidecar.watches import Watches

log = logging.getLogger(__name__)

#: A disk that does not answer must not hold the reload for ever.
READ_TIMEOUT_S = 10.0
#: What a sync under way has to end; what is left of its work is taken up by the next one.
SYNC_GRACE_S = 5.0
#: Longer than any search may take.
CALLERS_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Reloaded:
    """What a reload did: the keys that changed, those that wait for a restart, and the ids of the agents."""

    changed: Sequence[str]
    waiting: Sequence[str]
    added: Sequence[str]
    removed: Sequence[str]
    rebuilt: Sequence[str]
    kept: Sequence[str]


class Reloading:
    """Makes the fleet of the configuration in force, and follows it."""

    def __init__(self, configured: Configured, fleet: Fleet, assembly: Assembly, watches: Watches) -> None:
        self._configured = configured
        self._fleet = fleet
        self._assembly = assembly
        self._watches = watches
        self._recipes: Mapping[str, Recipe] = {}
        self._turn = asyncio.Lock()
        self._leaving: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        """Make the agents that the daemon starts with."""
        recipes = recipes_of(self._configured.settings)
        self._exchange(recipes, {agent_id: self._assembly.make(recipe) for agent_id, recipe in recipes.items()})

    async def reload(self) -> Reloaded:
        """Read the configuration again and follow it; one at a time.

        Raises `ConfigError` when it is wrong and `TimeoutError` when the disk does not answer; nothing changed then.
        """
        async with self._turn:
            try:
                settings, attempt, recipes = await asyncio.wait_for(asyncio.to_thread(self._read), READ_TIMEOUT_S)
            except ConfigError as error:
                self._configured.refused(error)
                found = [f"{finding.place} {finding.key} {finding.code}".strip() for finding in error.findings]
                # Without a trace: the fault is in the file, and `findings` say where.
                log.error("configuration refused", extra={"fields": {"findings": found}})  # noqa: TRY400
                raise
            reloaded = await self._follow(settings, attempt, recipes)
        log.info("configuration reloaded", extra={"fields": _told(reloaded)})
        return reloaded

    def _read(self) -> tuple[Settings, Attempt, Mapping[str, Recipe]]:
        settings, attempt = self._configured.read()
        return settings, attempt, recipes_of(settings)

    async def _follow(self, settings: Settings, attempt: Attempt, recipes: Mapping[str, Recipe]) -> Reloaded:
        before = self._recipes
        added = [agent_id for agent_id in recipes if agent_id not in before]
        removed = [agent_id for agent_id in before if agent_id not in recipes]
        rebuilt = [agent_id for agent_id in recipes if agent_id in before and recipes[agent_id] != before[agent_id]]
        leaving = [agent for agent in self._fleet if agent.id in {*removed, *rebuilt}]
        made = await self._made([recipes[agent_id] for agent_id in (*added, *rebuilt)], leaving)
        # Before anybody sees them: an agent without an index yet is one that begins, and no reason not to be ready.
        syncs = [(agent, agent.syncs.begin(qmd=True)) for agent in made.values() if agent.enabled]
        self._configured.became(settings, attempt)
        self._exchange(recipes, made)
        for agent_id in removed:
            self._assembly.dismiss(agent_id)
        if made or removed:
            await self._watches.lay()
        for agent, engines in syncs:
            for engine in engines:
                agent.syncs.spawn(agent.syncs.run(engine, "reload"))
        self._retire(leaving)
        kept = [agent_id for agent_id in recipes if agent_id not in made]
        return Reloaded(attempt.changed, attempt.waiting, added, removed, rebuilt, kept)

    async def _made(self, recipes: Iterable[Recipe], leaving: Sequence[Agent]) -> dict[str, Agent]:
        """The new agents, made once those that leave write nothing any more. If one cannot be made, nobody leaves."""
        await asyncio.gather(*(agent.syncs.stop(grace_s=SYNC_GRACE_S) for agent in leaving))
        try:
            return {recipe.agent.id: self._assembly.make(recipe) for recipe in recipes}
        except BaseException:
            for agent in leaving:
                agent.syncs.resume()
            raise

    def _exchange(self, recipes: Mapping[str, Recipe], made: Mapping[str, Agent]) -> None:
        """Have the fleet of these recipes. Nobody sees half of it: nothing is waited for."""
        present = {agent.id: agent for agent in self._fleet} | dict(made)
        self._fleet.become(present[agent_id] for agent_id in recipes)
        self._recipes = recipes
        for agent in self._fleet:
            agent.policy = self._configured.settings.policy
        for agent_id, agent in made.items():
            self._assembly.employ(agent, recipes[agent_id])

    def _retire(self, agents: Iterable[Agent]) -> None:
        for agent in agents:
            task = asyncio.create_task(agent.retire(patience_s=CALLERS_PATIENCE_S))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def close(self) -> None:
        """Wait until every agent that left is closed."""
        await asyncio.gather(*self._leaving, return_exceptions=True)


def _told(reloaded: Reloaded) -> dict[str, object]:
    """What is worth a line: the keys, and how many agents."""
    counts = {name: len(getattr(reloaded, name)) for name in ("added", "removed", "rebuilt", "kept")}
    return {"changed": list(reloaded.changed), "waiting": list(reloaded.waiting), **counts}
