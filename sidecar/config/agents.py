"""The agents of a configuration, each with its own workspace, search settings and index file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from scope import fold
from sidecar import places
from sidecar.config.agent_names import folder_name
from sidecar.config.json5 import KeyPath
from sidecar.config.schema import Compaction
from sidecar.config.search import MemorySearch
from sidecar.config.sections import Layers, Reader
from sidecar.config.settings import DEFAULT_AGENT, AgentSettings
from sidecar.config.timezones import host_zone, named_zone
from sidecar.config.validation import build
from sidecar.config.variables import expand

DEFAULTS: Final[KeyPath] = ("agents", "defaults")
WORKSPACE: Final = "~/.openclaw/workspace"


@dataclass(frozen=True, slots=True)
class Declared:
    """One agent as the file declares it: `places` are its entries, the stronger last; none for the implied agent."""

    id: str
    places: tuple[KeyPath, ...]


@dataclass(frozen=True, slots=True)
class Resolved:
    """The agents, and for every effective key the places that may hold it (see `Origins.written`)."""

    agents: dict[str, AgentSettings]
    written: Mapping[KeyPath, tuple[KeyPath, ...]]


def declared(reader: Reader) -> list[Declared]:
    """The agents of `agents.list` and `agents.entries` by id, in that order; `main` when there is none."""
    places: dict[str, tuple[KeyPath, ...]] = {}
    for at, name in _entries(reader):
        if problem := _id_problem(name):
            reader.error(at, "bad_agent_id", problem, "use lower-case letters, digits, - and _")
        elif _is_taken(name, at, places):
            message = "another agent has the same id; case does not count, since session keys fold it"
            reader.error(at, "duplicate_agent", message, "give each agent an id of its own")
        else:
            places[name] = (*places.get(name, ()), at)
    return [Declared(name, at) for name, at in places.items()] or [Declared(DEFAULT_AGENT, ())]


def _is_taken(name: str, at: KeyPath, places: Mapping[str, tuple[KeyPath, ...]]) -> bool:
    """Whether the id is another agent's. The same id in `list` and in `entries` is one agent in two spellings."""
    if name in places:
        return at[1] == places[name][-1][1]
    return fold(name) in {fold(other) for other in places}


def _entries(reader: Reader) -> list[tuple[KeyPath, Any]]:
    listed = reader.tree.get(("agents", "list"))
    if listed is not None and not isinstance(listed, list):
        reader.error(("agents", "list"), "bad_value", "should be a list", "write [ ... ]")
        listed = None
    found: list[tuple[KeyPath, Any]] = []
    for index in range(len(listed or [])):
        at: KeyPath = ("agents", "list", index)
        found.append((at, reader.mapping(at).get("id")))
    return found + [(("agents", "entries", name), name) for name in reader.mapping(("agents", "entries"))]


def _id_problem(name: Any) -> str:
    if not isinstance(name, str):
        return "an agent needs an id, which is a text"
    if ":" in name:
        return "an agent id must not hold a colon: in a session key it would end there, in the name of another agent"
    try:
        folder_name(name)
    except ValueError as error:
        return str(error)
    return ""


def resolve(reader: Reader, environ: Mapping[str, str], state_dir: Path) -> Resolved:
    """Every agent with the defaults under its own settings; problems go to `reader`."""
    reader.mapping(("agents",))
    zone = _zone(reader, environ)
    workspaces = _Workspaces(reader, environ)
    shared = reader.search(DEFAULTS, (*DEFAULTS, "memory", "search"), ("memory", "search"))
    compaction = reader.compaction(DEFAULTS)
    agents: dict[str, AgentSettings] = {}
    written: dict[KeyPath, tuple[KeyPath, ...]] = {}
    for agent in declared(reader):
        layers = {"memorySearch": shared, "compaction": compaction}
        for place in agent.places:
            own = reader.search(place, (*place, "memory", "search"))
            layers["memorySearch"] = own.over(layers["memorySearch"])
            layers["compaction"] = reader.compaction(place).over(layers["compaction"])
        workspace = workspaces.take(agent)
        agents[agent.id] = _agent(agent, layers, workspace, zone, environ, state_dir)
        written |= {("agents", agent.id, name): layer.places for name, layer in layers.items()}
        homes = [(*place, "workspace") for place in reversed(agent.places)]
        written["agents", agent.id, "workspace"] = (*homes, (*DEFAULTS, "workspace"))
        written["agents", agent.id, "userTimezone"] = ((*DEFAULTS, "userTimezone"),)
    return Resolved(agents, written)


def _agent(
    agent: Declared,
    layers: Mapping[str, Layers],
    workspace: Path,
    zone: ZoneInfo,
    environ: Mapping[str, str],
    state_dir: Path,
) -> AgentSettings:
    folder = folder_name(agent.id)
    search = build(MemorySearch, layers["memorySearch"].merged())
    store = search.store.path.replace("{agentId}", folder)
    return AgentSettings(
        id=agent.id,
        folder=folder,
        workspace=workspace,
        timezone=zone,
        search=search,
        compaction=build(Compaction, layers["compaction"].merged()),
        index_path=expand(store, environ, base=state_dir / "memory"),
        state_dir=state_dir / "agents" / folder,
        off_by="" if search.enabled else "memorySearch.enabled",
    )


def _zone(reader: Reader, environ: Mapping[str, str]) -> ZoneInfo:
    at = (*DEFAULTS, "userTimezone")
    if name := reader.word(at):
        try:
            return named_zone(name)
        except ValueError as error:
            message, _, hint = str(error).partition(": ")
            reader.error(at, "bad_timezone", message, hint)
    return host_zone(environ)


class _Workspaces:
    """Gives each agent its folder, and the default one to one agent only: two agents must not share a memory."""

    def __init__(self, reader: Reader, environ: Mapping[str, str]) -> None:
        self.reader = reader
        self.environ = environ
        self.home = places.home(environ)
        self.default = expand(reader.word((*DEFAULTS, "workspace")) or WORKSPACE, environ, base=self.home)
        self.taken_by: str | None = None

    def take(self, agent: Declared) -> Path:
        """The workspace of an agent; relative paths start at the user's home, since a service has no working folder."""
        own = [text for place in agent.places if (text := self.reader.word((*place, "workspace")))]
        if own:
            return expand(own[-1], self.environ, base=self.home)
        if self.taken_by is not None:
            message = f"the agent {agent.id} has no workspace of its own; {self.taken_by} has the default one"
            self.reader.error(agent.places[-1], "no_workspace", message, "add a workspace to this agent")
        self.taken_by = agent.id
        return self.default
