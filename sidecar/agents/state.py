"""What one word says about an agent."""

from __future__ import annotations

from enum import StrEnum

from backends.base import BackendStatus, Failure


class AgentState(StrEnum):
    """How an agent is: `ready`, or what stands in the way."""

    READY = "ready"
    INDEXING = "indexing"
    DEGRADED = "degraded"
    UNAVAILABLE = "unavailable"
    DISABLED = "disabled"


def is_spared(status: BackendStatus, engine: str, reason: str) -> bool:
    """Whether a failure is none: an engine that was only wanted if present may be missing."""
    breaker = status.detail.get("breaker") or {}
    return bool(breaker.get("optional")) and breaker.get("of") == engine and reason == Failure.MISSING
