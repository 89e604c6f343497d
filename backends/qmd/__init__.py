"""The real `qmd`, run as isolated child processes: one set per agent, warm where possible, never trusted blindly."""

from __future__ import annotations

from backends.qmd.backend import QmdBackend
from backends.qmd.home import QmdHome, QmdOptions, agent_environment
from backends.qmd.pool import ResidentPool
from backends.qmd.sweeping import descendants, strays, sweep
from backends.qmd.syncing import Turn

__all__ = [
    "QmdBackend",
    "QmdHome",
    "QmdOptions",
    "ResidentPool",
    "Turn",
    "agent_environment",
    "descendants",
    "strays",
    "sweep",
]
