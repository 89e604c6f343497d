"""The three questions of an MCP client, as calls of the socket."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sidecar.cli.exits import Exit, VerbError
from sidecar.cli.options import choose_agent
from sidecar.client import Client


@dataclass(frozen=True, slots=True)
class Asker:
    """Whose memory is asked, and as whom. Every method raises `ClientError` or `VerbError`.

    `connect` is asked at each call: the daemon may have been started anew, elsewhere, since the last one. Without a
    session key the operator asks.
    """

    connect: Callable[[], Client]
    agent: str | None = None
    session_key: str | None = None

    def search(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """`memory_search`, without what is for whoever looks after the daemon."""
        client, agent, key = self._place()
        reply = client.search(agent, **arguments, sessionKey=key)
        return {name: value for name, value in reply.items() if name != "debug"}

    def get(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """`memory_get`."""
        client, agent, key = self._place()
        return client.get(agent, **arguments, sessionKey=key)

    def status(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The status of the agent. It tells what exists, which a session that may not read is not told."""
        client, agent, key = self._place()
        decision = client.explain_scope(agent=agent, sessionKey=key).get("decision")
        if not isinstance(decision, Mapping) or not decision.get("allowed"):
            raise VerbError(
                Exit.DENIED, "denied", "scope denies this session the memory", hint="qmd-sidecar scope explain"
            )
        return client.status(agent)

    def _place(self) -> tuple[Client, str, str]:
        client = self.connect()
        agent = choose_agent(client, self.agent)
        return client, agent, self.session_key or f"agent:{agent}:cli:mcp"
