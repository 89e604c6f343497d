"""The tools that read an agent's memory."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request
from starlette.responses import Response

from sidecar.gateway.asked import agent_of, body_of
from sidecar.gateway.bodies import GetBody, SearchBody, parse
from sidecar.gateway.errors import Code, GatewayError, json_response
from sidecar.gateway.view import DaemonView
from sidecar.tools import reading, recall


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
    request.state.fields.update(backend=reply["backend"], outcome=reply["outcome"], results=len(reply["results"]))
    took_ms = round((time.perf_counter() - started) * 1000, 2)
    return json_response({**reply, "tookMs": took_ms, "requestId": request.state.request_id})


async def memory_get(daemon: DaemonView, request: Request) -> Response:
    """Read lines of one file of an agent's memory."""
    agent = agent_of(daemon, request)
    body = parse(GetBody, await body_of(request))
    request.state.fields.update(agent=agent.id)
    asked = reading.ReadRequest(
        path=body.path,
        start=body.start,
        lines=body.lines,
        session_key=body.session_key,
        parent_session_key=body.parent_session_key,
        visible_sessions=body.visible_sessions or (),
        sandboxed=body.is_sandboxed,
    )
    with request.state.places.taken(), _reading_errors():
        reply = await reading.get(agent, asked, daemon.files)
    return json_response(reply)


@contextmanager
def _reading_errors() -> Iterator[None]:
    """What can go wrong with a file, as the caller is told."""
    try:
        yield
    except reading.PathNotAllowedError:
        raise GatewayError(
            Code.PATH_NOT_ALLOWED,
            "this path is not part of the agent's memory",
            hint="use a path that memory_search returned, such as MEMORY.md or memory/2026-01-31.md",
        ) from None
    except TimeoutError:
        raise GatewayError(
            Code.TIMEOUT, "the disk did not answer in time", hint="try again; see whether the disk is well"
        ) from None
    except OSError as error:
        raise GatewayError(
            Code.UNREADABLE,
            f"the file cannot be read ({os.strerror(error.errno or 0)})",
            hint="check its size, and its permissions for the user who runs the daemon",
        ) from error
