"""The door: one decision for search, reading and everything else that shows memory, and one warning for a denial."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Protocol

from scope import Decision, decide
from sidecar.agents import Agent
from sidecar.sessions.visibility import Asker, Visible

log = logging.getLogger(__name__)

#: What every tool says of an agent whose memory is turned off.
DISABLED = "memory search is disabled for this agent"
#: Channels are the caller's words; a line of the log is not.
_MOST_CHANNEL_CHARS = 64


def admit(agent: Agent, session_key: str | None, parent_session_key: str | None, *, door: str) -> Decision:
    """Whether a session may see an agent's memory.

    To be asked before anything else of the agent is looked at, so that a denial neither tells nor takes more where
    there is more. A denial is logged, since it tells an operator why a chat gets nothing; the log says how often. So
    is the operator, whom no rule can keep out, and whoever works for the operator.
    """
    decision = decide(agent.policy, agent_id=agent.id, session_key=session_key, parent_session_key=parent_session_key)
    if not decision.allowed:
        _warn(agent, decision, door)
    elif decision.by_operator:
        log.info("operator at the command line", extra={"fields": {"agent": agent.id, "door": door}})
    return decision


class _Claims(Protocol):
    """What a request says of its session."""

    @property
    def session_key(self) -> str | None: ...
    @property
    def visible_sessions(self) -> Sequence[str]: ...
    @property
    def sandboxed(self) -> bool: ...


async def conversations_for(agent: Agent, request: _Claims, decision: Decision) -> Visible:
    """Which of an agent's conversations a session that was admitted may see, at every door the same."""
    if agent.conversations is None:
        return Visible(paths=frozenset())
    asker = Asker(
        session_key=request.session_key,
        operator=decision.kind == "cli",
        sandboxed=request.sandboxed,
        named=request.visible_sessions,
    )
    return await agent.conversations.visible_to(asker)


def _warn(agent: Agent, decision: Decision, door: str) -> None:
    agent.denials[decision.kind] += 1
    channel = decision.channel and decision.channel[:_MOST_CHANNEL_CHARS]
    fields: dict[str, Any] = {"agent": agent.id, "door": door, "channel": channel, "chatType": decision.chat_type}
    fields |= {"kind": decision.kind, "rule": decision.rule}
    log.warning("denied by scope", extra={"fields": fields})


def denied_json(decision: Decision) -> dict[str, Any]:
    """`{rule, channel, chatType, kind}`: about the caller and the policy, never about what exists."""
    return {
        "rule": decision.rule,
        "channel": decision.channel,
        "chatType": decision.chat_type,
        "kind": decision.kind,
    }
