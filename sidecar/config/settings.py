"""The configuration as the rest of the daemon sees it: resolved, per agent, frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

from backends.base import Notice
from scope import Policy
from sidecar.config.documents import Tree
from sidecar.config.errors import Finding
from sidecar.config.json5 import KeyPath
from sidecar.config.schema import Compaction, Memory, Provider, Session, Sidecar, Visibility
from sidecar.config.search import MemorySearch

DEFAULT_AGENT = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """One agent. `folder` is its name on disk, `index_path` its built-in index, `state_dir` its own state.

    `off_by` is the key that turns its memory off, empty when it is on.
    """

    id: str
    folder: str
    workspace: Path
    timezone: ZoneInfo
    search: MemorySearch
    compaction: Compaction
    index_path: Path
    state_dir: Path
    off_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """Where each effective value was written.

    `written` maps the start of an effective key path to the places of the file that may hold it, strongest
    first; `given` names what came from outside the file.
    """

    tree: Tree
    written: Mapping[KeyPath, tuple[KeyPath, ...]] = field(default_factory=dict)
    given: Mapping[KeyPath, str] = field(default_factory=dict)

    def of(self, path: KeyPath) -> str:
        """`file:line`, the name of a flag or variable, or `default`."""
        if path in self.given:
            return self.given[path]
        for end in range(len(path), 0, -1):
            for start in self.written.get(path[:end], ()):
                if place := self.tree.written((*start, *path[end:])):
                    return f"{place[0]}:{place[1]}"
        return "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that was configured.

    `path` is the file in use, None for none. `variables` is the environment with OpenClaw's `.env` under it, in
    which API keys are looked up; it is never printed. `disabled` says that `plugins.slots.memory` is `none`.
    """

    path: Path | None
    memory: Memory
    sidecar: Sidecar
    agents: dict[str, AgentSettings]
    session: Session
    visibility: Visibility
    providers: dict[str, Provider]
    policy: Policy
    state_dir: Path
    socket: Path
    home: Path
    disabled: bool
    findings: tuple[Finding, ...] = ()
    origins: Origins = field(repr=False)
    variables: Mapping[str, str] = field(repr=False)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The warnings of `findings` as callers and status see them."""
        return tuple(Notice(found.code, f"{found.key}: {found.message}", found.hint) for found in self.findings)
