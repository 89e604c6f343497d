"""The qmd of this machine as one agent uses it: found again for every call, asked for its version when it changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from backends.base import BackendError, Failure
from backends.qmd.child import Surroundings
from backends.qmd.home import READ_BUSY_TIMEOUT_MS, QmdHome, QmdOptions
from backends.qmd.install import Binary, Install, find, probe


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
                fresh = await self._probe(binary)
                replaced, self.known = self.known is not None, fresh
                if replaced:
                    await self._on_change()
            return self.known

    def surroundings(self, *, busy_timeout_ms: int = READ_BUSY_TIMEOUT_MS, updating: bool = False) -> Surroundings:
        """Environment and folders for a child of this agent, made again if somebody removed them.

        Raises `BackendError`: a missing working directory would otherwise look like a missing qmd.
        """
        try:
            self._home.prepare()
        except OSError as error:
            message = f"qmd's folders cannot be made: {error.strerror or type(error).__name__}."
            raise BackendError(Failure.EXITED, message, hint=f"Look at {self._home.config}.") from error
        return self._home.surroundings(self.environ, busy_timeout_ms=busy_timeout_ms, updating=updating)

    async def _probe(self, binary: Binary) -> Install:
        try:
            return await probe(binary, self.surroundings(), timeout_s=self._options.command_timeout_s)
        except OSError as error:
            message = f"{binary.path} could not be started: {error.strerror}."
            raise BackendError(Failure.BROKEN_INSTALL, message, hint="Run `qmd --version` by hand.") from error
