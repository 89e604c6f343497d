"""What the gateway may see of the daemon."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from sidecar.config import Settings
from sidecar.configured import Configured
from sidecar.fleet import Fleet
from sidecar.probing import Prober
from sidecar.reloading import Reloaded
from sidecar.sessions.forgetting import Forgetting


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonView:
    """What the routes may see of the daemon.

    `state` is `starting`, `ready` or `draining`; `files` runs what reads whole files for callers.
    """

    configured: Configured
    reload: Callable[[], Awaitable[Reloaded]]
    fleet: Fleet
    files: Executor
    started_at: float
    state: Callable[[], str]
    worker_status: Callable[[], dict[str, Any]]
    prober: Prober
    forgetting: Forgetting
    stop: Callable[[], None]

    @property
    def settings(self) -> Settings:
        """The configuration in force at this moment."""
        return self.configured.settings
