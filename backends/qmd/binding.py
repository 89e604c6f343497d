"""Bind the collections of one index to the roots: write the lists that qmd reads, and prove that it took them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Executor
from typing import Any, TypeVar

from backends.base import BackendError
from backends.qmd import collections, command
from backends.qmd.asking import Asking
from backends.qmd.child import run
from backends.qmd.collections import Desired, Plan
from backends.qmd.home import WRITE_BUSY_TIMEOUT_MS, QmdHome, QmdOptions
from backends.qmd.install import Install
from backends.qmd.ledger import Remembered
from backends.qmd.program import Program
from backends.qmd.resident import GoneError

log = logging.getLogger(__name__)

T = TypeVar("T")

_READ_BACK_WAIT_S = 5.0


class Binding:
    """The collections of one agent's index."""

    def __init__(
        self,
        *,
        agent_id: str,
        home: QmdHome,
        options: QmdOptions,
        program: Program,
        asking: Asking,
        remembered: Remembered,
        pool: Executor,
    ) -> None:
        self._agent_id = agent_id
        self._home = home
        self._options = options
        self._program = program
        self._asking = asking
        self._remembered = remembered
        self._pool = pool

    async def write(self, install: Install, wanted: Desired, shrunk: Collection[str]) -> Plan:
        """Write what is wanted. An update then leaves the `shrunk` collections alone; searches go on seeing them."""
        step = await self._off_loop(lambda: self._plan(wanted))
        # A root that left the configuration leaves the index; one that is only missing keeps its documents there.
        await self._forget(install, [name for name in step.remove if name not in wanted.held])
        await self._off_loop(lambda: self._write(wanted, step, shrunk))
        return step

    async def read_back(self, install: Install, wanted: Desired, step: Plan) -> tuple[str, ...]:
        """Collections that a resident reports otherwise. Nothing is asked when nothing was written."""
        if not self._options.resident or not (step.create or step.rebind):
            return ()
        resident = await self._asking.lease(install, wait_s=_READ_BACK_WAIT_S)
        if resident is None:
            return ()
        return collections.mismatches(await self.reported(), wanted)

    async def reported(self) -> dict[str, Any]:
        """What the resident says about its index, if there is one and it answers; else nothing."""
        resident, timeout_s = self._asking.current(), self._options.command_timeout_s
        if resident is None:
            return {}
        try:
            return dict(await resident.call("status", {}, timeout_s=timeout_s, hang_s=timeout_s))
        except (BackendError, GoneError):
            return {}

    async def add(self, install: Install, wanted: Desired, names: Collection[str]) -> None:
        """Let qmd itself make collections that it did not take from `index.yml`: a newer one may read another form."""
        for want in wanted.collections:
            if want.name in names:
                await self._run(command.remove(install, want.name))
                await self._run(command.add(install, want.name, want.path, want.pattern))

    async def finish_migration(self, install: Install) -> None:
        """Drop the older names once the files are indexed under the newer ones."""
        aliases = self._remembered.now.aliases
        if aliases:
            await self._forget(install, aliases)
            await self._off_loop(lambda: self._strike(aliases))
            self._remembered.change(aliases={})
            log.info("collections renamed", extra={"fields": {"agent": self._agent_id, "names": sorted(aliases)}})

    def _plan(self, wanted: Desired) -> Plan:
        self._home.prepare()
        document = collections.load(self._home.index_yml)
        aliases = collections.older_names(document, wanted, self._agent_id)
        self._remembered.change(aliases=aliases)
        return collections.plan(document, wanted, self._remembered.now.owned, keep=aliases)

    def _write(self, wanted: Desired, step: Plan, shrunk: Collection[str]) -> None:
        document = collections.load(self._home.index_yml)
        after = collections.applied(document, wanted, step, self._program.environ)
        bindings = collections.bindings(wanted.collections)
        # The ledger first: a collection must never stand there without being known as ours.
        self._remembered.change(owned=self._remembered.now.owned | bindings)
        if after != document:
            collections.store(self._home.index_yml, after)
        if shrunk:
            collections.store(self._home.updating_yml, collections.without(after, shrunk))
        self._remembered.change(owned=bindings)

    async def _forget(self, install: Install, names: Iterable[str]) -> None:
        if self._home.index.exists():
            for name in names:
                await self._run(command.remove(install, name))

    def _strike(self, names: Collection[str]) -> None:
        """Take names out of the list, whatever qmd thought of removing them."""
        document = collections.load(self._home.index_yml)
        after = collections.without(document, names)
        if after != document:
            collections.store(self._home.index_yml, after)

    async def _run(self, argv: list[str]) -> None:
        """A step whose result is judged by what stands in the index afterwards, not by its words."""
        surroundings = self._program.surroundings(busy_timeout_ms=WRITE_BUSY_TIMEOUT_MS)
        await run(argv, surroundings, timeout_s=self._options.update_timeout_s)

    async def _off_loop(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)
