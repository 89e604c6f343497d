"""The door: one decision for search, reading and everything else that shows memory, and one warning for a denial."""

from __future__ import annotations

import logging
from typing import Any

from scope import Decision, decide
from sidecar.agents import Agent

log = logging.getLogger(__name__)


def admit(agent: Agent, session_key: str | None, parent_session_key: str | None, *, door: str) -> Decision:
    """Whether a session may see an agent's memory.

    A denial is logged: it tells an operator why a chat gets nothing. So is the operator, whom no rule can keep out.
    """
    decision = decide(agent.policy, agent_id=agent.id, session_key=session_key, parent_session_key=parent_session_key)
    if not decision.allowed:
        fields = {"agent": agent.id, "door": door, "channel": decision.channel, "chatType": decision.chat_type}
        log.warning("denied by scope", extra={"fields": {**fields, "kind": decision.kind, "rule": decision.rule}})
    elif decision.kind == "cli":
        log.info("operator at the command line", extra={"fields": {"agent": agent.id, "door": door}})
    return decision


def denied_json(decision: Decision) -> dict[str, Any]:
    """`{rule, channel, chatType, kind}`: about the caller and the policy, never about what exists."""
    return {
        "rule": decision.rule,
        "channel": decision.channel,
        "chatType": decision.chat_type,
        "kind": decision.kind,
    }
