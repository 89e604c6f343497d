"""Agents as operators see and tend them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from backends.base import BackendError, Notice, SyncReport, SyncRequest
from sidecar.agents import Agent, look_at
from sidecar.gateway.asked import agent_of, body_of
from sidecar.gateway.bodies import SyncBody, flag, parse
from sidecar.gateway.errors import Code, GatewayError, json_response
from sidecar.gateway.replies.agents import Environment
from sidecar.gateway.view import DaemonView
from sidecar.shapes import embedding_json, estimate_json, notice_json, report_json

_QMD_ALONE = Notice(
    "no_builtin_index",
    "Only qmd has an index for this agent, and embeds with models of its own.",
    "See `qmd status` with the variables of `qmd-sidecar agents env`.",
)


async def agents(daemon: DaemonView, request: Request) -> Response:
    """The agents in short."""
    rows = [agent.status() for agent in daemon.fleet]
    short = ("id", "workspace", "backend", "state")
    return json_response({"agents": [{key: row[key] for key in short} for row in rows]})


async def agent_status(daemon: DaemonView, request: Request) -> Response:
    """One agent in full."""
    (status,) = await statuses(daemon, [agent_of(daemon, request)], request)
    return json_response(status)


async def statuses(daemon: DaemonView, agents: Sequence[Agent], request: Request) -> list[dict[str, Any]]:
    """The agents' statuses; with `deep` each agent's embedding providers are tried, all at once."""
    await look_at(agent.workspace for agent in agents)
    if not flag(request, "deep"):
        return [agent.status() for agent in agents]
    asked = (daemon.prober.probe(agent.builtin.providers if agent.builtin else ()) for agent in agents)
    probes = await asyncio.gather(*asked)
    return [{**agent.status(), "embedding": embedding_json(found)} for agent, found in zip(agents, probes, strict=True)]


async def environment(daemon: DaemonView, request: Request) -> Response:
    """The variables that let a person's own qmd use the same index."""
    agent = agent_of(daemon, request)
    if agent.environment is None:
        raise GatewayError(
            Code.NO_QMD,
            "this agent is searched without qmd, so there is no index for a qmd to share",
            hint='set memory.backend to "qmd" or "auto"',
        )
    return json_response(Environment(environment=dict(agent.environment)))


async def sync(daemon: DaemonView, request: Request) -> Response:
    """Bring an agent's indexes up to date, now or in the background."""
    agent = agent_of(daemon, request)
    body = parse(SyncBody, await body_of(request))
    request.state.fields.update(agent=agent.id)
    if body.estimate:
        return json_response({"queued": False, "reports": [], **await _estimated(agent)})
    asked = SyncRequest(reason="request", force=body.force, embed=body.embed)
    if not body.wait:
        agent.syncs.spawn(agent.syncs.sync(asked))
        return json_response({"queued": True, "reports": []}, 202)
    results = (await agent.syncs.sync(asked)).values()
    reports = [report_json(result) for result in results if isinstance(result, SyncReport)]
    failures = [failure_json(result) for result in results if isinstance(result, BackendError)]
    return json_response({"queued": False, "reports": reports, **({"notices": failures} if failures else {})})


async def _estimated(agent: Agent) -> dict[str, Any]:
    """What the agent's next sync would embed, or why that cannot be said."""
    if agent.builtin is None:
        return {"notices": [notice_json(_QMD_ALONE)]}
    try:
        return {"estimate": estimate_json(await agent.builtin.estimate())}
    except BackendError as error:
        return {"notices": [failure_json(error)]}


def failure_json(error: BackendError) -> dict[str, Any]:
    """Why an engine or the worker could not do its part, as a notice."""
    return {"code": error.code, "message": error.message, "action": error.hint}
