"""What the gateway may see of the daemon."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from backends.base import Notice
from exporter import ExportJob
from sidecar.changes import Changes
from sidecar.config import Settings
from sidecar.configured import Configured
from sidecar.events import Bus
from sidecar.fleet import Fleet
from sidecar.gateway.places import MAX_IN_FLIGHT, MAX_LISTENERS, Places
from sidecar.metrics.counts import Counts
from sidecar.probing import Prober
from sidecar.reloading import Reloaded
from sidecar.sessions.forgetting import Forgetting


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonView:
    """What the routes may see of the daemon.

    `state` is `starting`, `ready` or `draining`; `export` is an export in the worker.
    `told` is what the daemon has to complain of itself, beside its configuration. `places` are for requests,
    `listeners` for those that stay to hear of events.
    """

    configured: Configured
    reload: Callable[[], Awaitable[Reloaded]]
    fleet: Fleet
    started_at: float
    state: Callable[[], str]
    worker_status: Callable[[], dict[str, Any]]
    prober: Prober
    counts: Counts
    bus: Bus
    changes: Changes
    told: Callable[[], tuple[Notice, ...]]
    forgetting: Forgetting
    export: Callable[[ExportJob], Awaitable[dict[str, Any]]]
    stop: Callable[[], None]
    places: Places = field(default_factory=lambda: Places(MAX_IN_FLIGHT))
    listeners: Places = field(default_factory=lambda: Places(MAX_LISTENERS))

    @property
    def settings(self) -> Settings:
        """The configuration in force at this moment."""
        return self.configured.settings
