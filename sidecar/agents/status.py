"""One agent as operators see it; docs/api.md has the shape. Cheap: asks nobody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from backends.base import BackendStatus, Notice
from backends.corpus import Root
from sidecar.agents.state import AgentState, is_spared
from sidecar.shapes import error_json, fallback_json, notice_json, pending_json, report_json

if TYPE_CHECKING:
    from sidecar.agents.agent import Agent


def status_of(agent: Agent) -> dict[str, Any]:
    """The whole status, as JSON."""
    status = agent.search.status()
    pending = status.pending or agent.syncs.pending(status.backend)
    return {
        "id": agent.id,
        "workspace": str(agent.settings.workspace),
        "state": state_of(agent, status),
        "backend": status.backend,
        **({"fallback": fallback_json(status.fallback)} if status.fallback else {}),
        **({"breaker": breaker} if (breaker := status.detail.get("breaker")) else {}),
        "documents": status.documents,
        **({"pending": pending_json(pending)} if pending else {}),
        **_last_sync(agent),
        **({"nextUpdateAt": at} if (at := agent.next_update()) else {}),
        "engines": {name: _engine(agent, name) for name in agent.syncs.engines},
        "roots": [_root(root) for root in agent.corpus.roots],
        "notices": [notice_json(notice) for notice in (*_notices(agent), *status.notices)],
    }


def state_of(agent: Agent, status: BackendStatus) -> AgentState:
    """The state, given the status of the engine that answers."""
    if not agent.enabled:
        return AgentState.DISABLED
    if status.fallback and not is_spared(status, status.fallback.origin, status.fallback.reason):
        return AgentState.DEGRADED
    if agent.syncs.running:
        return AgentState.INDEXING
    if not status.ready:
        return AgentState.UNAVAILABLE
    return AgentState.DEGRADED if _is_ailing(agent, status) else AgentState.READY


def _is_ailing(agent: Agent, status: BackendStatus) -> bool:
    """Whether an engine could not be synced that should have been."""
    last = agent.syncs.last.items()
    return any(sync.failure and not is_spared(status, name, sync.failure) for name, sync in last)


def _engine(agent: Agent, name: str) -> dict[str, Any]:
    status, last = agent.syncs.engines[name].status(), agent.syncs.last.get(name)
    return {
        "ready": status.ready,
        "documents": status.documents,
        **status.detail,
        **agent.configured.get(name, {}),
        **({"syncing": True} if name in agent.syncs.running else {}),
        **({"lastError": error_json(last.error, last.at)} if last and last.error else {}),
    }


def _root(root: Root) -> dict[str, Any]:
    return {
        "name": root.name,
        "kind": root.kind,
        "path": str(root.path),
        "pattern": root.patterns[0],
        "shown": root.shown,
    }


def _notices(agent: Agent) -> Iterator[Notice]:
    yield from agent.notices
    yield from agent.notices_of_workspace()
    yield from (agent.watch_notice,) if agent.watch_notice else ()
    yield from agent.exports.notices if agent.exports else ()


def _last_sync(agent: Agent) -> dict[str, Any]:
    last = agent.syncs.last_good
    if last is None or last.report is None:
        return {}
    return {"lastSync": {"at": last.at, **report_json(last.report)}}
