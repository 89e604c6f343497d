"""Every route in one table: what is asked, what is answered, and how it can be refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sidecar.gateway import bodies, replies
from sidecar.gateway.errors import Code
from sidecar.gateway.handlers import agents, doctor, flush, memory, observing, scope, service, sessions
from sidecar.gateway.streaming import LINES
from sidecar.gateway.view import DaemonView

Handler: TypeAlias = Callable[[DaemonView, Request], Awaitable[Response]]


JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Operation:
    """One route: the function that answers, the shape of its reply, and the body that it takes.

    `statuses` are those with which the reply leaves. `errors` are the refusals of this route alone: what can be wrong
    with any body, agent or flag is known from there being one (`refusals`). `flags` are what the query of the URL can
    switch on, by name, with what each does, and `numbers` the whole numbers that it can hold. `media` is the type of
    the reply, whose shape is that of each line where the type is one of lines.
    """

    method: str
    path: str
    handler: Handler
    reply: Any
    body: type[bodies.Body] | None = None
    statuses: tuple[int, ...] = (200,)
    errors: tuple[Code, ...] = ()
    flags: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, str] = field(default_factory=dict)
    media: str = JSON

    @property
    def names_agent(self) -> bool:
        """Whether the path holds the id of an agent."""
        return "{id}" in self.path

    @property
    def refusals(self) -> tuple[Code, ...]:
        """Every code that this route can answer, in the order of their list."""
        found = {Code.INVALID_HTTP, Code.METHOD_NOT_ALLOWED, Code.INTERNAL, *self.errors}
        if self.names_agent:
            # An id with a slash in it makes another path.
            found |= {Code.UNKNOWN_AGENT, Code.NOT_FOUND}
        if self.flags or self.numbers:
            found |= {Code.INVALID_REQUEST}
        if self.body:
            found |= {Code.INVALID_JSON, Code.INVALID_REQUEST, Code.REQUEST_TIMEOUT, Code.BODY_TOO_LARGE}
        return tuple(code for code in Code if code in found)


DEEP = {"deep": "Also have each embedding provider embed something, for up to ten seconds."}
ADMITTED = (Code.OVERLOADED,)
ONCE = {"once": "End behind the events that are kept, the last 512."}
AFTER = {"after": "Begin behind the event of that id, as far as events are kept; else with the next one."}
ON_DISK = (*ADMITTED, Code.TIMEOUT)
READING = (*ON_DISK, Code.PATH_NOT_ALLOWED, Code.UNREADABLE)

OPERATIONS = (
    Operation("GET", "/livez", service.livez, replies.Alive),
    Operation("GET", "/readyz", service.readyz, replies.Readiness, statuses=(200, 503)),
    Operation("GET", "/metrics", observing.metrics, str, media="text/plain"),
    Operation("GET", "/v1/openapi.json", service.openapi, dict[str, Any]),
    Operation("GET", "/v1/info", service.info, replies.Info),
    Operation("GET", "/v1/status", service.status, replies.DaemonStatus, flags=DEEP),
    Operation(
        "GET",
        "/v1/events",
        observing.events,
        replies.Event,
        errors=ADMITTED,
        flags=ONCE,
        numbers=AFTER,
        media=LINES,
    ),
    Operation("POST", "/v1/doctor", doctor.doctor, replies.DoctorReply, bodies.DoctorBody, errors=ADMITTED),
    Operation("POST", "/v1/reload", service.reload, replies.ReloadReply, errors=(Code.CONFIGURATION, Code.TIMEOUT)),
    Operation("POST", "/v1/shutdown", service.shutdown, replies.Stopping, statuses=(202,)),
    Operation("GET", "/v1/agents", agents.agents, replies.AgentList),
    Operation("GET", "/v1/agents/{id}", agents.agent_status, replies.AgentStatus, flags=DEEP),
    Operation("GET", "/v1/agents/{id}/status", agents.agent_status, replies.AgentStatus, flags=DEEP),
    Operation("GET", "/v1/agents/{id}/env", agents.environment, replies.Environment, errors=(Code.NO_QMD,)),
    Operation(
        "POST",
        "/v1/agents/{id}/memory_search",
        memory.memory_search,
        replies.SearchReply,
        bodies.SearchBody,
        errors=ADMITTED,
    ),
    Operation(
        "POST",
        "/v1/agents/{id}/memory_get",
        memory.memory_get,
        replies.GetReply,
        bodies.GetBody,
        errors=READING,
    ),
    Operation(
        "POST",
        "/v1/agents/{id}/session_start",
        memory.session_start,
        replies.SessionStartReply,
        bodies.SessionStartBody,
        errors=ON_DISK,
    ),
    Operation("GET", "/v1/agents/{id}/memory_flush/plan", flush.plan, replies.FlushPlan),
    Operation(
        "POST",
        "/v1/agents/{id}/memory_flush",
        flush.memory_flush,
        replies.FlushReply,
        bodies.FlushBody,
        errors=ON_DISK,
    ),
    Operation(
        "POST",
        "/v1/agents/{id}/memory_flush/result",
        flush.result,
        replies.FlushResultReply,
        bodies.FlushResultBody,
        errors=ON_DISK,
    ),
    Operation(
        "POST",
        "/v1/agents/{id}/triggers",
        memory.triggers,
        replies.TriggersReply,
        bodies.TriggersBody,
        errors=ON_DISK,
    ),
    Operation("POST", "/v1/agents/{id}/sync", agents.sync, replies.SyncReply, bodies.SyncBody, statuses=(200, 202)),
    Operation(
        "POST",
        "/v1/scope/explain",
        scope.explain,
        replies.Explanation,
        bodies.ExplainBody,
        errors=(Code.UNKNOWN_AGENT,),
    ),
    Operation("POST", "/v1/agents/{id}/export", sessions.export, replies.ExportReply, bodies.ExportBody),
    Operation("POST", "/v1/agents/{id}/purge", sessions.purge, replies.PurgeReply, bodies.PurgeBody),
)


def routes(daemon: DaemonView) -> list[Route]:
    """The gateway's whole surface."""
    return [Route(each.path, partial(each.handler, daemon), methods=[each.method]) for each in OPERATIONS]
