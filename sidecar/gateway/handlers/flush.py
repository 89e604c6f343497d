"""The flush before a compaction: asking for it, and telling how it went."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from sidecar.gateway.asked import agent_of, body_of
from sidecar.gateway.bodies import FlushBody, FlushedBody, FlushResultBody, parse
from sidecar.gateway.errors import disk_deadline, json_response
from sidecar.gateway.view import DaemonView
from sidecar.tools import flush
from sidecar.tools.flush_ledger import Result


async def plan(daemon: DaemonView, request: Request) -> Response:
    """When, and with which words, sessions are flushed by a gateway that decides for itself."""
    return json_response(flush.plan(agent_of(daemon, request), daemon.settings))


async def memory_flush(daemon: DaemonView, request: Request) -> Response:
    """Whether a session should write down what matters before it is compacted."""
    agent = agent_of(daemon, request)
    body = parse(FlushBody, await body_of(request))
    size = flush.Size(
        context_window=body.context_window, total_tokens=body.total_tokens, transcript_bytes=body.transcript_bytes
    )
    place = flush.Place(access=body.workspace_access, sandboxed=body.sandboxed)
    with request.state.places.taken(), disk_deadline():
        reply = await flush.decide(agent, _session(body), size, place, daemon.settings, agent.threads.files)
    request.state.fields.update(agent=agent.id, flush=reply["flush"], reason=reply["reason"])
    return json_response(reply)


async def result(daemon: DaemonView, request: Request) -> Response:
    """How a flush went."""
    agent = agent_of(daemon, request)
    body = parse(FlushResultBody, await body_of(request))
    with request.state.places.taken(), disk_deadline():
        reply = await flush.report(agent, _session(body), Result(body.result), agent.threads.files)
    request.state.fields.update(agent=agent.id, result=body.result, state=reply["state"])
    return json_response(reply)


def _session(body: FlushedBody) -> flush.Session:
    return flush.Session(
        key=body.session_key,
        parent_key=body.parent_session_key,
        id=body.session_id,
        compactions=body.compaction_count,
    )
