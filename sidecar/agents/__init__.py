"""The agents of the daemon: what one holds, when its engines are synced, and what an operator sees of it."""

from sidecar.agents.agent import Agent
from sidecar.agents.presence import look_at
from sidecar.agents.state import AgentState

__all__ = ["Agent", "AgentState", "look_at"]
