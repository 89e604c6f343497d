"""What is examined, and what a check is."""

from __future__ import annotations

import asyncio
import os
import pwd
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TypeAlias

from backends.corpus import Corpus
from sidecar.config import AgentSettings, Settings, resolve_corpus
from sidecar.doctor.catalogue import CheckId, Finding
from sidecar.gateway.view import DaemonView


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A daemon and its surroundings: `live` is the daemon itself, None where another process looks.

    `environ` is the environment of whoever looks; `shell_path` the PATH of the person who asks, empty when it is the
    same. `deep` allows the network. Disks are looked at in `pool`.
    """

    settings: Settings
    environ: Mapping[str, str]
    pool: Executor
    live: DaemonView | None = None
    deep: bool = False
    shell_path: str = ""

    @property
    def agents(self) -> list[AgentSettings]:
        """The agents whose memory is on."""
        return [agent for agent in self.settings.agents.values() if not agent.off_by]

    def corpus(self, agent: AgentSettings) -> Corpus:
        """Where an agent's notes are."""
        return resolve_corpus(self.settings, agent)[0]

    @property
    def wants_qmd(self) -> bool:
        """Whether qmd is an engine of any agent."""
        return self.settings.memory.backend != "builtin"

    @property
    def wants_builtin(self) -> bool:
        """Whether every agent has a built-in index."""
        return self.settings.memory.backend == "builtin" or self.settings.memory.fallback == "builtin"


def account() -> str:
    """Who we are, whatever the environment says; a number in a container where it has no name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


Run: TypeAlias = Callable[[Subject], Awaitable[list[Finding]]]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at. `needs_daemon` says that only the daemon itself can."""

    id: CheckId
    run: Run
    needs_daemon: bool = False


def on_disk(look: Callable[[Subject], Iterable[Finding]]) -> Run:
    """A check that waits for disks and processes, not for the daemon: it runs beside the event loop."""

    async def run(subject: Subject) -> list[Finding]:
        return await asyncio.get_running_loop().run_in_executor(subject.pool, lambda: list(look(subject)))

    return run
