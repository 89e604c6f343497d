"""Every route in one table, and one short function behind each."""

from __future__ import annotations

import asyncio
import difflib
import os
import platform
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psutil
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

import sidecar
from backends.base import BackendError, Notice, SyncReport, SyncRequest
from sidecar import reading, recall
from sidecar.agents import Agent, AgentState
from sidecar.config import Settings
from sidecar.fleet import Fleet
from sidecar.gateway.bodies import GetBody, SearchBody, SyncBody, flag, parse
from sidecar.gateway.errors import Code, GatewayError, json_response
from sidecar.probing import Prober
from sidecar.shapes import embedding_json, estimate_json, notice_json, report_json

MAX_BODY_BYTES = 2**20
BODY_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonView:
    """What the routes may see of the daemon.

    `state` is `starting`, `ready` or `draining`; `files` runs what reads whole files for callers.
    """

    settings: Settings
    fleet: Fleet
    files: Executor
    started_at: float
    state: Callable[[], str]
    worker_status: Callable[[], dict[str, Any]]
    prober: Prober
    stop: Callable[[], None]


_QMD_ALONE = Notice(
    "no_builtin_index",
    "Only qmd has an index for this agent, and embeds with models of its own.",
    "See `qmd status` with the variables of `qmd-sidecar agents env`.",
)
_DEGRADED = {AgentState.DEGRADED, AgentState.UNAVAILABLE}

Handler = Callable[[Request], Awaitable[Response]]


def routes(daemon: DaemonView) -> list[Route]:
    """The gateway's whole surface."""
    handlers = Handlers(daemon)
    return [
        Route("/livez", handlers.livez, methods=["GET"]),
        Route("/readyz", handlers.readyz, methods=["GET"]),
        Route("/v1/info", handlers.info, methods=["GET"]),
        Route("/v1/status", handlers.status, methods=["GET"]),
        Route("/v1/shutdown", handlers.shutdown, methods=["POST"]),
        Route("/v1/agents", handlers.agents, methods=["GET"]),
        Route("/v1/agents/{id}", handlers.agent_status, methods=["GET"]),
        Route("/v1/agents/{id}/status", handlers.agent_status, methods=["GET"]),
        Route("/v1/agents/{id}/env", handlers.environment, methods=["GET"]),
        Route("/v1/agents/{id}/memory_search", handlers.memory_search, methods=["POST"]),
        Route("/v1/agents/{id}/memory_get", handlers.memory_get, methods=["POST"]),
        Route("/v1/agents/{id}/sync", handlers.sync, methods=["POST"]),
    ]


class Handlers:
    """The functions behind the routes. Each reads a request, calls one room of the daemon, and shapes the reply."""

    def __init__(self, daemon: DaemonView) -> None:
        self._daemon = daemon

    async def livez(self, request: Request) -> Response:
        """The loop answers; nothing else is claimed."""
        return json_response({"alive": True})

    async def readyz(self, request: Request) -> Response:
        """200 once every agent has an engine that can answer; degraded is ready and says so."""
        state = self._daemon.state()
        agents = {agent.id: agent.status()["state"] for agent in self._daemon.fleet}
        body = {
            "ready": state == "ready",
            "state": state,
            "degraded": bool(_DEGRADED & {*agents.values()}),
            "agents": agents,
        }
        if state != "ready":
            return json_response(body, Code.NOT_READY.status, {"Retry-After": "1"})
        return json_response(body)

    async def info(self, request: Request) -> Response:
        """What runs here."""
        settings = self._daemon.settings
        return json_response(
            {
                "name": "qmd-sidecar",
                "version": sidecar.__version__,
                "pid": os.getpid(),
                "startedAt": self._daemon.started_at,
                "uptimeSeconds": round(time.time() - self._daemon.started_at, 1),
                "stateDir": str(settings.state_dir),
                "socket": str(settings.socket),
                "config": str(settings.path) if settings.path else None,
                "python": platform.python_version(),
                "platform": sys.platform,
            }
        )

    async def status(self, request: Request) -> Response:
        """Everything an operator sees on one screen."""
        settings = self._daemon.settings
        return json_response(
            {
                "state": self._daemon.state(),
                "version": sidecar.__version__,
                "pid": os.getpid(),
                "rssBytes": psutil.Process().memory_info().rss,
                "uptimeSeconds": round(time.time() - self._daemon.started_at, 1),
                "socket": str(settings.socket),
                "stateDir": str(settings.state_dir),
                "config": str(settings.path) if settings.path else None,
                "agents": await self._statuses(list(self._daemon.fleet), request),
                "worker": self._daemon.worker_status(),
                "notices": [notice_json(notice) for notice in settings.notices],
            }
        )

    async def agents(self, request: Request) -> Response:
        """The agents in short."""
        rows = [agent.status() for agent in self._daemon.fleet]
        short = ("id", "workspace", "backend", "state")
        return json_response({"agents": [{key: row[key] for key in short} for row in rows]})

    async def agent_status(self, request: Request) -> Response:
        """One agent in full."""
        (status,) = await self._statuses([self._agent(request)], request)
        return json_response(status)

    async def _statuses(self, agents: Sequence[Agent], request: Request) -> list[dict[str, Any]]:
        """The agents' statuses; with `deep` each agent's embedding providers are tried, all at once."""
        if not flag(request, "deep"):
            return [agent.status() for agent in agents]
        asked = (self._daemon.prober.probe(agent.builtin.providers if agent.builtin else ()) for agent in agents)
        probes = await asyncio.gather(*asked)
        return [
            {**agent.status(), "embedding": embedding_json(found)} for agent, found in zip(agents, probes, strict=True)
        ]

    async def environment(self, request: Request) -> Response:
        """The variables that let a person's own qmd use the same index."""
        agent = self._agent(request)
        if agent.environment is None:
            raise GatewayError(
                Code.NO_QMD,
                "this agent is searched without qmd, so there is no index for a qmd to share",
                hint='set memory.backend to "qmd" or "auto"',
            )
        return json_response({"environment": dict(agent.environment)})

    async def memory_search(self, request: Request) -> Response:
        """Search one agent's memory."""
        started = time.perf_counter()
        agent = self._agent(request)
        body = parse(SearchBody, await _body(request))
        asked = recall.SearchRequest(
            text=body.query,
            session_key=body.session_key,
            parent_session_key=body.parent_session_key,
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
            reply = await recall.search(agent, asked, self._daemon.settings)
        request.state.fields.update(
            agent=agent.id, backend=reply["backend"], outcome=reply["outcome"], results=len(reply["results"])
        )
        took_ms = round((time.perf_counter() - started) * 1000, 2)
        return json_response({**reply, "tookMs": took_ms, "requestId": request.state.request_id})

    async def memory_get(self, request: Request) -> Response:
        """Read lines of one file of an agent's memory."""
        agent = self._agent(request)
        body = parse(GetBody, await _body(request))
        request.state.fields.update(agent=agent.id)
        asked = reading.ReadRequest(
            path=body.path,
            start=body.start,
            lines=body.lines,
            session_key=body.session_key,
            parent_session_key=body.parent_session_key,
        )
        with request.state.places.taken(), _reading_errors():
            reply = await reading.get(agent, asked, self._daemon.settings, self._daemon.files)
        return json_response(reply)

    async def sync(self, request: Request) -> Response:
        """Bring an agent's indexes up to date, now or in the background."""
        agent = self._agent(request)
        body = parse(SyncBody, await _body(request))
        request.state.fields.update(agent=agent.id)
        if body.estimate:
            return json_response({"queued": False, "reports": [], **await _estimated(agent)})
        asked = SyncRequest(reason="request", force=body.force, embed=body.embed)
        if not body.wait:
            agent.spawn(agent.sync(asked))
            return json_response({"queued": True, "reports": []}, 202)
        results = (await agent.sync(asked)).values()
        reports = [report_json(result) for result in results if isinstance(result, SyncReport)]
        failures = [_failure_json(result) for result in results if isinstance(result, BackendError)]
        return json_response({"queued": False, "reports": reports, **({"notices": failures} if failures else {})})

    async def shutdown(self, request: Request) -> Response:
        """Begin an orderly stop."""
        self._daemon.stop()
        return json_response({"stopping": True}, 202)

    def _agent(self, request: Request) -> Agent:
        agent_id = request.path_params["id"]
        agent = self._daemon.fleet.get(agent_id)
        if agent is None:
            near = difflib.get_close_matches(agent_id, self._daemon.fleet.ids, n=1)
            known = ", ".join(self._daemon.fleet.ids[:10])
            hint = f"did you mean {near[0]!r}?" if near else f"the agents are: {known}"
            raise GatewayError(Code.UNKNOWN_AGENT, "no agent of that id", hint=hint)
        return agent


async def _estimated(agent: Agent) -> dict[str, Any]:
    """What the agent's next sync would embed, or why that cannot be said."""
    if agent.builtin is None:
        return {"notices": [notice_json(_QMD_ALONE)]}
    try:
        return {"estimate": estimate_json(await agent.builtin.estimate())}
    except BackendError as error:
        return {"notices": [_failure_json(error)]}


def _failure_json(error: BackendError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "action": error.hint}


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


async def _body(request: Request) -> bytes:
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
