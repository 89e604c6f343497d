"""Conversations as files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic.alias_generators import to_camel
from starlette.requests import Request
from starlette.responses import Response

from backends.base import BackendError, Notice
from exporter import BadPatternError, compile_pattern
from sidecar.gateway.asked import agent_of, body_of
from sidecar.gateway.bodies import ExportBody, PurgeBody, parse
from sidecar.gateway.errors import Code, GatewayError, json_response
from sidecar.gateway.handlers.agents import failure_json
from sidecar.gateway.view import DaemonView
from sidecar.sessions.exporting import Exports, complaints, possible_job
from sidecar.sessions.forgetting import Purge
from sidecar.shapes import notice_json

_SESSIONS_OFF = Notice(
    "sessions_off",
    "Conversations are not part of this agent's memory.",
    "Set memory.qmd.sessions.enabled to true.",
)


async def export(daemon: DaemonView, request: Request) -> Response:
    """Bring an agent's exported conversations up to date, or say what that would change."""
    agent = agent_of(daemon, request)
    body = parse(ExportBody, await body_of(request))
    request.state.fields.update(agent=agent.id)
    exports, off = agent.exports, []
    if exports is None:
        off = [notice_json(_SESSIONS_OFF)]
        if not body.dry_run:
            return json_response({"notices": off})
        # Whoever thinks of switching them on wants to see first what that would write.
        exports = Exports(agent.settings, possible_job(daemon.settings, agent.settings), daemon.export)
    try:
        report = await exports.run(dry_run=body.dry_run, diff=body.diff, since=body.since)
    except BackendError as error:
        return json_response({"notices": [failure_json(error)]})
    if not body.dry_run and (report["written"] or report["removed"]):
        agent.syncs.refresh("export")
    return json_response(
        {"export": _export_json(report), "notices": [*off, *(notice_json(each) for each in complaints(report))]}
    )


async def purge(daemon: DaemonView, request: Request) -> Response:
    """Have an agent's conversations forget a session or what a pattern matches, and prove it."""
    agent = agent_of(daemon, request)
    body = parse(PurgeBody, await body_of(request))
    request.state.fields.update(agent=agent.id)
    if agent.exports is None:
        return json_response({"notices": [notice_json(_SESSIONS_OFF)]})
    asked = Purge(session=body.session or "", pattern=_checked(body.pattern), dry_run=body.dry_run)
    try:
        report = await daemon.forgetting.purge(agent, asked)
    except BackendError as error:
        return json_response({"notices": [failure_json(error)]})
    if report is None:
        raise GatewayError(Code.NOT_FOUND, "no session of that key or id is known", hint="see sessions.json")
    return json_response({"purge": report, "notices": []})


def _checked(pattern: str | None) -> str:
    """The pattern. Raises `GatewayError` that says what is wrong with it, and never quotes it."""
    try:
        if pattern:
            compile_pattern(pattern)
    except BadPatternError as error:
        raise GatewayError(
            Code.INVALID_REQUEST, f"pattern: {error.reason}", hint="write it as RE2 does, so that it matches some text"
        ) from None
    return pattern or ""


def _export_json(report: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an `ExportReport` in the gateway's spelling."""
    return {to_camel(name): value for name, value in report.items()}
