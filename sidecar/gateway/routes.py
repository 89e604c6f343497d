"""Every route in one table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sidecar.gateway.bodies import (
    Body,
    ExplainBody,
    ExportBody,
    FlushBody,
    FlushResultBody,
    GetBody,
    PurgeBody,
    SearchBody,
    SessionStartBody,
    SyncBody,
    TriggersBody,
)
from sidecar.gateway.handlers import agents, flush, memory, scope, service, sessions
from sidecar.gateway.view import DaemonView

Handler: TypeAlias = Callable[[DaemonView, Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One route: what is asked with which body, and the function that answers."""

    method: str
    path: str
    handler: Handler
    body: type[Body] | None = None


OPERATIONS = (
    Operation("GET", "/livez", service.livez),
    Operation("GET", "/readyz", service.readyz),
    Operation("GET", "/v1/info", service.info),
    Operation("GET", "/v1/status", service.status),
    Operation("POST", "/v1/shutdown", service.shutdown),
    Operation("GET", "/v1/agents", agents.agents),
    Operation("GET", "/v1/agents/{id}", agents.agent_status),
    Operation("GET", "/v1/agents/{id}/status", agents.agent_status),
    Operation("GET", "/v1/agents/{id}/env", agents.environment),
    Operation("POST", "/v1/agents/{id}/memory_search", memory.memory_search, SearchBody),
    Operation("POST", "/v1/agents/{id}/memory_get", memory.memory_get, GetBody),
    Operation("POST", "/v1/agents/{id}/session_start", memory.session_start, SessionStartBody),
    Operation("POST", "/v1/agents/{id}/memory_flush", flush.memory_flush, FlushBody),
    Operation("POST", "/v1/agents/{id}/memory_flush/result", flush.result, FlushResultBody),
    Operation("POST", "/v1/agents/{id}/triggers", memory.triggers, TriggersBody),
    Operation("POST", "/v1/agents/{id}/sync", agents.sync, SyncBody),
    Operation("POST", "/v1/scope/explain", scope.explain, ExplainBody),
    Operation("POST", "/v1/agents/{id}/export", sessions.export, ExportBody),
    Operation("POST", "/v1/agents/{id}/purge", sessions.purge, PurgeBody),
)


def routes(daemon: DaemonView) -> list[Route]:
    """The gateway's whole surface."""
    return [Route(each.path, partial(each.handler, daemon), methods=[each.method]) for each in OPERATIONS]
