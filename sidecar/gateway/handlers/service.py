"""The daemon itself: whether it lives, whether it can answer, what it is, and how to end it."""

from __future__ import annotations

import os
import platform
import sys
import time
from http import HTTPStatus
from typing import Any

import psutil
from starlette.requests import Request
from starlette.responses import Response

import sidecar
from sidecar.agents import AgentState
from sidecar.config import ConfigError, Finding
from sidecar.gateway.errors import Code, GatewayError, disk_deadline, json_response
from sidecar.gateway.handlers.agents import statuses
from sidecar.gateway.replies.service import Alive, Info, Stopping
from sidecar.gateway.view import DaemonView
from sidecar.shapes import notice_json

_DEGRADED = {AgentState.DEGRADED, AgentState.UNAVAILABLE}


async def livez(daemon: DaemonView, request: Request) -> Response:
    """The loop answers; nothing else is claimed."""
    return json_response(Alive(alive=True))


async def readyz(daemon: DaemonView, request: Request) -> Response:
    """200 once every agent has an engine that can answer; degraded is ready and says so."""
    state = daemon.state()
    agents = {agent.id: agent.status()["state"] for agent in daemon.fleet}
    body = {
        "ready": state == "ready",
        "state": state,
        "degraded": bool(_DEGRADED & {*agents.values()}),
        "agents": agents,
    }
    if state != "ready":
        return json_response(body, HTTPStatus.SERVICE_UNAVAILABLE, {"Retry-After": "1"})
    return json_response(body)


async def info(daemon: DaemonView, request: Request) -> Response:
    """What runs here."""
    settings = daemon.settings
    return json_response(
        Info(
            name="qmd-sidecar",
            version=sidecar.__version__,
            pid=os.getpid(),
            startedAt=daemon.started_at,
            uptimeSeconds=round(time.time() - daemon.started_at, 1),
            stateDir=str(settings.state_dir),
            socket=str(settings.socket),
            config=str(settings.path) if settings.path else None,
            python=platform.python_version(),
            platform=sys.platform,
        )
    )


async def status(daemon: DaemonView, request: Request) -> Response:
    """Everything an operator sees on one screen."""
    settings = daemon.settings
    return json_response(
        {
            "state": daemon.state(),
            "version": sidecar.__version__,
            "pid": os.getpid(),
            "rssBytes": psutil.Process().memory_info().rss,
            "uptimeSeconds": round(time.time() - daemon.started_at, 1),
            "socket": str(settings.socket),
            "stateDir": str(settings.state_dir),
            "config": str(settings.path) if settings.path else None,
            "agents": await statuses(daemon, list(daemon.fleet), request),
            "worker": daemon.worker_status(),
            **_last_reload(daemon),
            "notices": [notice_json(notice) for notice in (*daemon.configured.notices, *daemon.told())],
        }
    )


def _last_reload(daemon: DaemonView) -> dict[str, Any]:
    last = daemon.configured.last
    return {"lastReload": {"at": last.at, "ok": last.error is None}} if last else {}


async def reload(daemon: DaemonView, request: Request) -> Response:
    """Read the configuration again, and follow it agent by agent."""
    try:
        with disk_deadline():
            done = await daemon.reload()
    except ConfigError as error:
        raise GatewayError(
            Code.CONFIGURATION,
            "the configuration on disk is wrong; the previous one is still in force",
            hint="correct what `details` name, and reload again",
            details=[_detail(finding) for finding in error.findings],
        ) from None
    return json_response(
        {
            "changed": done.changed,
            "needsRestart": done.waiting,
            "agents": {name: getattr(done, name) for name in ("added", "removed", "rebuilt", "kept")},
            "notices": [notice_json(notice) for notice in daemon.configured.notices],
        }
    )


def _detail(finding: Finding) -> dict[str, str]:
    return {"field": f"{finding.place} {finding.key}".strip(), "message": finding.message}


async def openapi(daemon: DaemonView, request: Request) -> Response:
    """The OpenAPI document of this interface."""
    # The document describes the table in which this function stands.
    from sidecar.gateway.openapi import document

    return json_response(document())


async def shutdown(daemon: DaemonView, request: Request) -> Response:
    """Begin an orderly stop."""
    daemon.stop()
    return json_response(Stopping(stopping=True), HTTPStatus.ACCEPTED)
