"""What to write into the settings of an MCP client, so that it starts the server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

#: What the clients call the server.
NAME: Final = "memory"


@dataclass(frozen=True, slots=True)
class Launch:
    """How the server is started: an absolute command, its arguments, and the variables that it would miss."""

    command: str
    args: Sequence[str]
    env: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """The three keys that all clients know; without variables two of them."""
        return {"command": self.command, "args": list(self.args), **({"env": dict(self.env)} if self.env else {})}


@dataclass(frozen=True, slots=True)
class McpClient:
    """A client: where its settings are, and the part of them that names the server."""

    place: str
    snippet: Callable[[Launch], str]


def _below(*keys: str, **more: str) -> Callable[[Launch], str]:
    """JSON with the server below these keys."""

    def snippet(launch: Launch) -> str:
        value: dict[str, Any] = {NAME: {**more, **launch.as_json()}}
        for key in reversed(keys):
            value = {key: value}
        return json.dumps(value, indent=2, ensure_ascii=False)

    return snippet


def _toml(launch: Launch) -> str:
    """A table of TOML, whose strings and lists are written as in JSON."""
    lines = [f"[mcp_servers.{NAME}]", f"command = {_text(launch.command)}", f"args = {_text(list(launch.args))}"]
    variables = [f"{name} = {_text(value)}" for name, value in launch.env.items()]
    return "\n".join([*lines, *(["", f"[mcp_servers.{NAME}.env]", *variables] if variables else [])])


def _text(value: str | list[str]) -> str:
    # JSON leaves DEL as it is, TOML forbids it.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


CLIENTS: Final = {
    "claude": McpClient(".mcp.json of a project, or claude_desktop_config.json", _below("mcpServers")),
    "codex": McpClient("~/.codex/config.toml", _toml),
    "cursor": McpClient("~/.cursor/mcp.json", _below("mcpServers")),
    "vscode": McpClient(".vscode/mcp.json", _below("servers", type="stdio")),
    "zed": McpClient("the settings.json of Zed", _below("context_servers", source="custom")),
    "openclaw": McpClient("~/.openclaw/openclaw.json", _below("mcp", "servers")),
    "generic": McpClient("the settings of the client", _below("mcpServers")),
}
