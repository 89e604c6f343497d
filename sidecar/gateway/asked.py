"""What a request asks: its body, and the agent that its path names."""

from __future__ import annotations

import asyncio
import difflib

from starlette.requests import ClientDisconnect, Request

from sidecar.agents import Agent
from sidecar.gateway.errors import Code, GatewayError
from sidecar.gateway.view import DaemonView

MAX_BODY_BYTES = 2**20
BODY_TIMEOUT_S = 10.0


def agent_of(daemon: DaemonView, request: Request) -> Agent:
    """The agent that the path names, held until the request is over. Raises `GatewayError` (`unknown_agent`)."""
    agent = named_agent(daemon, request.path_params["id"])
    request.state.held.enter_context(agent.calling())
    return agent


def named_agent(daemon: DaemonView, agent_id: str) -> Agent:
    """The agent of that id. Raises `GatewayError` (`unknown_agent`) with the nearest id."""
    agent = daemon.fleet.get(agent_id)
    if agent is None:
        near = difflib.get_close_matches(agent_id, daemon.fleet.ids, n=1)
        known = ", ".join(daemon.fleet.ids[:10])
        hint = f"did you mean {near[0]!r}?" if near else f"the agents are: {known}"
        raise GatewayError(Code.UNKNOWN_AGENT, "no agent of that id", hint=hint)
    return agent


async def body_of(request: Request) -> bytes:
    """The body, refused as soon as it is known to be too large."""
    too_large = GatewayError(
        Code.BODY_TOO_LARGE, f"the body is larger than {MAX_BODY_BYTES} bytes", hint="send a shorter query"
    )
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > MAX_BODY_BYTES:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_BODY_BYTES:
                    raise too_large
    except TimeoutError:
        raise GatewayError(
            Code.REQUEST_TIMEOUT, f"the body did not come within {BODY_TIMEOUT_S:.0f} s", hint="send it at once"
        ) from None
    except ClientDisconnect:
        raise GatewayError(Code.INVALID_REQUEST, "the client hung up", hint="") from None
    return bytes(body)
