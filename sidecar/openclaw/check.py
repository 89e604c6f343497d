"""The proof that OpenClaw's memory is ours: through its command line, its running gateway, and our daemon.

A plugin can stand in the list as loaded while OpenClaw's own memory answers with empty lists; so what is looked at is
who answers, and the settings only to name the trap.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sidecar.client import Client, ClientError
from sidecar.openclaw.host import ENTRY, PLUGIN_FOLDER, PLUGIN_ID, SLOT, Host, HostError

TOOLS = ("memory_search", "memory_get")
INSTALL = "qmd-sidecar openclaw install"
_UNDREAM = f"openclaw config set {ENTRY}.config.dreaming.enabled false --strict-json, then restart the gateway"
_RESTART = "openclaw gateway restart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at. `ok` is None where it could not be told; `fix` is the next step."""

    name: str
    ok: bool | None
    message: str
    fix: str = ""


def findings(host: Host, connect: Callable[[], Client]) -> Iterator[Finding]:
    """Everything that was looked at, in the order in which it builds on each other."""
    agents = _daemon_agents(connect)
    if isinstance(agents, Finding):
        yield agents
    else:
        yield Finding(name="daemon", ok=True, message=f"answers for {', '.join(sorted(agents))}")
    yield _installed(host)
    yield _slot(host)
    yield _command(host)
    gateway = _gateway_agents(host)
    if isinstance(gateway, Finding):
        yield gateway
        return
    yield Finding(name="gateway", ok=True, message="answers")
    if not isinstance(agents, Finding):
        yield _same_agents(gateway, agents)
    yield from _tools(host)
    yield from (_search(host, agent) for agent in gateway)


def _daemon_agents(connect: Callable[[], Client]) -> set[str] | Finding:
    try:
        return {str(agent.get("id")) for agent in connect().agents()}
    except ClientError as error:
        return Finding(name="daemon", ok=False, message=error.message, fix=error.hint)


def _installed(host: Host) -> Finding:
    """Whether the copy that OpenClaw made is loaded, and the one of this version."""
    rows = {row["id"]: row for row in host.read("plugins", "list")["plugins"]}
    row = rows.get(PLUGIN_ID)
    if row is None:
        return Finding(name="plugin", ok=False, message="is not installed", fix=INSTALL)
    if not row.get("enabled"):
        return Finding(name="plugin", ok=False, message="is installed and switched off", fix=INSTALL)
    ours = json.loads((PLUGIN_FOLDER / "openclaw.plugin.json").read_text(encoding="utf-8"))["version"]
    if row.get("version") != ours:
        return Finding(
            name="plugin", ok=False, message=f"is {row.get('version')}, this command has {ours}", fix=INSTALL
        )
    return Finding(name="plugin", ok=True, message=f"{ours} is {row.get('status')}")


def _slot(host: Host) -> Finding:
    holder = host.settings().holder
    if holder == PLUGIN_ID:
        return Finding(name="slot", ok=True, message=f"{SLOT} is {PLUGIN_ID}")
    return Finding(name="slot", ok=False, message=f"{SLOT} is {holder or 'not set'}", fix=INSTALL)


def _command(host: Host) -> Finding:
    """Whether `openclaw memory` is ours: memory-core takes it while dreaming is not switched off in the file."""
    try:
        rows = host.read("memory", "status")
    except HostError as error:
        return Finding(name="command", ok=False, message=error.message, fix=error.hint)
    engines = [((row.get("status") or {}).get("custom") or {}).get("engine") for row in rows]
    if engines and all(engines):
        return Finding(name="command", ok=True, message="`openclaw memory` is answered by the daemon")
    return Finding(name="command", ok=False, message="`openclaw memory` is answered by memory-core", fix=_UNDREAM)


def _gateway_agents(host: Host) -> list[str] | Finding:
    try:
        return [str(row["id"]) for row in host.call("agents.list")["agents"]]
    except HostError as error:
        return Finding(name="gateway", ok=None, message=error.message, fix="start the gateway, and check again")


def _same_agents(gateway: list[str], daemon: set[str]) -> Finding:
    if missing := [agent for agent in gateway if agent not in daemon]:
        message = f"the daemon has no agent {', '.join(missing)}"
        return Finding(
            name="agents", ok=False, message=message, fix="name them in its configuration: qmd-sidecar config path"
        )
    return Finding(name="agents", ok=True, message="the daemon has every agent of the gateway")


def _tools(host: Host) -> Iterator[Finding]:
    """Who provides the tools, as the gateway hands them to an agent; it tells that of known conversations alone."""
    sessions = host.call("sessions.list")["sessions"]
    if not sessions:
        fix = "say something to the agent, and check again"
        yield Finding(name="tools", ok=None, message="no conversation yet whose tools could be seen", fix=fix)
        return
    owners = _owners(host.call("tools.effective", sessionKey=sessions[0]["key"]))
    for tool in TOOLS:
        owner = owners.get(tool)
        if owner == PLUGIN_ID:
            yield Finding(name=tool, ok=True, message="is ours")
        elif owner is None:
            yield Finding(
                name=tool, ok=False, message="is not given to the agent", fix="see tools.profile and tools.deny"
            )
        else:
            yield Finding(name=tool, ok=False, message=f"is answered by {owner}", fix=_UNDREAM)


def _owners(value: Any) -> dict[str, str]:
    """The plugin of every tool, wherever in the reply the tool stands."""
    if isinstance(value, list):
        return {tool: owner for each in value for tool, owner in _owners(each).items()}
    if not isinstance(value, dict):
        return {}
    if value.get("id") in TOOLS:
        return {value["id"]: str(value.get("pluginId") or value.get("source") or "the core")}
    return {tool: owner for each in value.values() for tool, owner in _owners(each).items()}


def _search(host: Host, agent: str) -> Finding:
    """A real search, as the host itself makes it; what it finds does not matter."""
    try:
        reply = host.call("memory.search", query="memory", agentId=agent, maxResults=1)
    except HostError as error:
        return Finding(name="search", ok=False, message=f"of {agent}: {error.message}", fix=_RESTART)
    return Finding(name="search", ok=True, message=f"of {agent}: answered, {reply.get('searchMode')}")
