"""Why a session may read an agent's memory, or may not."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from scope import Explanation, SessionKey
from scope import explain as explain_decision
from sidecar.gateway.asked import body_of, named_agent
from sidecar.gateway.bodies import ExplainBody, parse
from sidecar.gateway.errors import json_response
from sidecar.gateway.view import DaemonView
from sidecar.tools.admission import denied_json


async def explain(daemon: DaemonView, request: Request) -> Response:
    """Decide as the tools would, and show every step. Nothing is read, and a denial here is not logged as one."""
    body = parse(ExplainBody, await body_of(request))
    agent = named_agent(daemon, body.agent)
    request.state.fields.update(agent=agent.id)
    explanation = explain_decision(
        agent.policy,
        agent_id=agent.id,
        session_key=body.session_key,
        parent_session_key=body.parent_session_key,
    )
    return json_response(explanation_json(explanation))


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """`{decision, key, rules, parent?}`; `parent` is the same for the parent of a sub-agent."""
    decision = explanation.decision
    shown = {
        "decision": {"allowed": decision.allowed, **denied_json(decision)},
        "key": _key_json(explanation.key),
        "rules": [asdict(report) for report in explanation.rules],
    }
    return shown if explanation.parent is None else {**shown, "parent": explanation_json(explanation.parent)}


def _key_json(key: SessionKey) -> dict[str, Any]:
    return {
        "normalized": key.normalized,
        "agent": key.agent_id,
        "channel": key.channel,
        "chatType": key.chat_type,
        "kind": key.kind,
        "valid": key.valid,
        "problem": key.problem,
    }
