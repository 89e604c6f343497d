"""The qmd of this machine as one agent uses it: found again for every call, asked for its version when it changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from backends.qmd.child import Surroundings
from backends.qmd.home import QmdHome, QmdOptions
from backends.qmd.install import Install, find, probe


class Program:
    """`current` costs a few stats when nothing changed. `on_change` runs when another binary takes its place."""

    def __init__(
        self,
        home: QmdHome,
        options: QmdOptions,
        environ: Mapping[str, str],
        on_change: Callable[[], Awaitable[None]],
    ) -> None:
        self._home = home
        self._options = options
        self.environ = environ
        self._on_change = on_change
        self._probing = asyncio.Lock()
        self.known: Install | None = None

    async def current(self) -> Install:
        """The qmd that is there now. Raises `BackendError` saying what is missing or broken."""
        binary = find(self._options.command, self.environ)
        if self.known is not None and self.known.binary == binary:
            return self.known
        async with self._probing:
            if self.known is None or self.known.binary != binary:
                self._home.prepare()
                fresh = await probe(binary, self.surroundings(), timeout_s=self._options.command_timeout_s)
                replaced, self.known = self.known is not None, fresh
                if replaced:
                    await self._on_change()
            return self.known

    def surroundings(self, **settings: int) -> Surroundings:
        """Environment and folder for a child of this agent."""
        return self._home.surroundings(self.environ, **settings)
