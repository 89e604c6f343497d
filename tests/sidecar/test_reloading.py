"""From one configuration to the next, inside one process: who is seen meanwhile, and what is left when it fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from backends.qmd import ResidentPool
from sidecar.agents import Agent
from sidecar.assembly import Assembly, Recipe
from sidecar.config import Settings, load
from sidecar.configured import Configured
from sidecar.engines import Shared
from sidecar.events import unheard
from sidecar.fleet import Fleet
from sidecar.governor import Governor
from sidecar.reloading import Reloading
from sidecar.scheduler import Scheduler
from sidecar.watches import Watches
from sidecar.worker.process import Worker


class Unwatched(Watches):
    """Watches nothing, and looks at the fleet at the moment when it would."""

    def __init__(self, fleet: Fleet) -> None:
        self._seen = fleet
        self.held: list[bool] = []

    async def lay(self) -> None:
        """Note whether every agent is ready, or begins."""
        self.held.append(self._seen.holds)


class Failing(Assembly):
    """Makes the agents of the start, and no others."""

    made = 0

    def make(self, recipe: Recipe) -> Agent:
        """Fail from the second on."""
        self.made += 1
        if self.made > 1:
            raise OSError("no more of them")
        return super().make(recipe)


@dataclass
class House:
    """A fleet that follows a configuration file."""

    folder: Path
    assembly: type[Assembly] = Assembly
    fleet: Fleet = field(default_factory=Fleet)

    def write(self, *names: str, **more: Any) -> None:
        """Have these agents."""
        agents = [{"id": name, "workspace": str(self.folder / name)} for name in names]
        config = {"memory": {"backend": "builtin", **more}, "agents": {"list": agents}}
        (self.folder / "config.json5").write_text(json.dumps(config), encoding="utf-8")

    def load(self, *, state_dir: Path | None = None, socket: Path | None = None) -> Settings:
        """The settings of the file."""
        state = state_dir or self.folder / "state"
        file = self.folder / "config.json5"
        return load(file, environ={"HOME": str(self.folder)}, state_dir=state, socket=socket)

    def run(self, scenario: Callable[[Reloading, Unwatched], Awaitable[None]]) -> None:
        """Begin, and go through a scenario."""
        asyncio.run(self._run(scenario))

    async def _run(self, scenario: Callable[[Reloading, Unwatched], Awaitable[None]]) -> None:
        environ = {"HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder)}
        worker, settings = Worker(), self.load()
        shared = Shared(
            writer=worker,
            governor=Governor.of_this_machine(environ),
            residents=ResidentPool(),
            environ=environ,
            publish=unheard,
        )
        watches = Unwatched(self.fleet)
        assembly = self.assembly(shared, worker, Scheduler())
        reloading = Reloading(Configured(settings, self.load, environ=environ), self.fleet, assembly, watches)
        reloading.begin()
        try:
            async with asyncio.timeout(30):
                await scenario(reloading, watches)
        finally:
            await self.fleet.close()
            await reloading.close()
            await worker.close()


def test_an_agent_that_joins_begins_from_its_first_moment(tmp_path: Path) -> None:
    """The daemon stays ready while the new folders are about to be watched, which may take seconds."""
    house = House(tmp_path)
    house.write()

    async def scenario(reloading: Reloading, watches: Unwatched) -> None:
        house.write("new")
        assert (await reloading.reload()).added == ["new"]
        assert watches.held == [True]

    house.run(scenario)


def test_agents_that_stay_after_all_are_synced_again(tmp_path: Path) -> None:
    """What was planned before is not lost, and what changes later is planned."""
    house = House(tmp_path, Failing)
    house.write("main")

    async def scenario(reloading: Reloading, watches: Unwatched) -> None:
        (agent,) = house.fleet
        agent.changed(frozenset({"memory/a.md"}))
        house.write("main", qmd={"update": {"interval": "7m"}})
        with pytest.raises(OSError, match="no more"):
            await reloading.reload()
        assert [*house.fleet] == [agent]
        while not agent.syncs.last:
            await asyncio.sleep(0.02)
        assert agent.syncs.pending("builtin") is None

    house.run(scenario)
