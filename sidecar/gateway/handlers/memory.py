"""The tools that read an agent's memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request
from starlette.responses import Response

from sidecar.gateway.asked import agent_of, body_of
from sidecar.gateway.bodies import GetBody, SearchBody, SessionStartBody, TriggersBody, parse
from sidecar.gateway.errors import Code, GatewayError, disk_deadline, json_response
from sidecar.gateway.request_line import facts, question
from sidecar.gateway.view import DaemonView
from sidecar.tools import reading, recall
from sidecar.tools import session_start as starting
from sidecar.tools import triggers as recalling
from sidecar.tools.paths import PathNotAllowedError


async def memory_search(daemon: DaemonView, request: Request) -> Response:
    """Search one agent's memory."""
    started = time.perf_counter()
    agent = agent_of(daemon, request)
    body = parse(SearchBody, await body_of(request))
    request.state.fields.update(agent=agent.id, **({"caller": body.caller.facts()} if body.caller else {}))
    asked = recall.SearchRequest(
        text=body.query,
        session_key=body.session_key,
        parent_session_key=body.parent_session_key,
        visible_sessions=body.visible_sessions or (),
        sandboxed=body.is_sandboxed,
        max_results=body.max_results,
        min_score=body.min_score,
        corpus=body.corpus,
        mode=body.mode,
        after=body.after,
        before=body.before,
        timeout_s=body.timeout_ms / 1000 if body.timeout_ms else None,
        explain=body.explain,
    )
    with request.state.places.taken():
        reply = await recall.search(agent, asked, daemon.settings)
    allowed = daemon.settings.sidecar.log.queries
    request.state.fields.update(facts(reply) | question(body.query, allowed=allowed))
    took_s = time.perf_counter() - started
    daemon.counts.searched(reply, took_s)
    return json_response({**reply, "tookMs": round(took_s * 1000, 2), "requestId": request.state.request_id})


async def memory_get(daemon: DaemonView, request: Request) -> Response:
    """Read lines of one file of an agent's memory."""
    agent = agent_of(daemon, request)
    body = parse(GetBody, await body_of(request))
    request.state.fields.update(agent=agent.id)
    asked = reading.ReadRequest(
        path=body.path,
        start=body.start,
        lines=body.lines,
        column=body.column,
        session_key=body.session_key,
        parent_session_key=body.parent_session_key,
        visible_sessions=body.visible_sessions or (),
        sandboxed=body.is_sandboxed,
    )
    with request.state.places.taken(), _reading_errors():
        reply = await reading.get(agent, asked, agent.threads.files)
    request.state.fields.update(facts(reply))
    return json_response(reply)


async def session_start(daemon: DaemonView, request: Request) -> Response:
    """What a session that begins may load, and a sync on the way."""
    agent = agent_of(daemon, request)
    body = parse(SessionStartBody, await body_of(request))
    request.state.fields.update(agent=agent.id)
    with request.state.places.taken(), disk_deadline():
        reply = await starting.start(
            agent, body.session_key, body.parent_session_key, daemon.settings, agent.threads.files
        )
    return json_response(reply)


async def triggers(daemon: DaemonView, request: Request) -> Response:
    """Entries of the curated files that a message brings to mind."""
    agent = agent_of(daemon, request)
    body = parse(TriggersBody, await body_of(request))
    asked = recalling.TriggersRequest(
        message=body.message, session_key=body.session_key, parent_session_key=body.parent_session_key
    )
    with request.state.places.taken(), disk_deadline():
        reply = await recalling.recall(agent, asked, agent.threads.files)
    request.state.fields.update(agent=agent.id, **facts(reply))
    return json_response({**reply, "requestId": request.state.request_id})


@contextmanager
def _reading_errors() -> Iterator[None]:
    """What can go wrong with a file, as the caller is told."""
    try:
        with disk_deadline():
            yield
    except PathNotAllowedError:
        raise GatewayError(
            Code.PATH_NOT_ALLOWED,
            "this path is not part of the agent's memory",
            hint="use a path that memory_search returned, such as MEMORY.md or memory/2026-01-31.md",
        ) from None
    except OSError as error:
        raise GatewayError(
            Code.UNREADABLE,
            f"the file cannot be read ({error.strerror})",
            hint="check its size, its encoding, and its permissions for the user who runs the daemon",
        ) from error
