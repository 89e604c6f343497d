"""What `qmd-sidecar config check` and `config show` say, as plain data."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import repeat
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from backends.presence import is_folder, is_there
from sidecar.config.checks import search_key
from sidecar.config.errors import Finding, Severity
from sidecar.config.json5 import KeyPath
from sidecar.config.loader import inspect
from sidecar.config.roots import configured_paths
from sidecar.config.settings import AgentSettings, Settings

STARS: Final = "***"
_SECRETS: Final = frozenset({"apiKey", "headers"})
#: A user and password before the host, and a query: `models.providers` may hold addresses that we do not use.
_SECRETS_OF_URL: Final = re.compile(r"(?<=://).*(?=@)|^[^/]*(?=@)|(?<=[?#]).+", re.DOTALL)


def check(
    config: Path | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    state_dir: Path | None = None,
    socket: Path | None = None,
) -> tuple[Finding, ...]:
    """Everything that is wrong or odd, errors first, then from top to bottom. Never raises for a bad configuration."""
    settings, findings = inspect(config, environ=environ, state_dir=state_dir, socket=socket)
    missing = (*_missing_workspaces(settings), *_missing_paths(settings)) if settings is not None else ()
    return tuple(sorted((*findings, *missing), key=lambda found: (found.severity, found.file or "", found.line or 0)))


def _missing_workspaces(settings: Settings) -> Iterator[Finding]:
    """Looked for here and not at every load: a running daemon says it for as long as it is true."""
    for agent in settings.agents.values():
        places = settings.origins.written.get(("agents", agent.id, "workspace"), ())
        at = next((place for place in places if settings.origins.tree.written(place)), None)
        if at is not None and not is_folder(agent.workspace):
            message = f"the workspace of agent {agent.id} does not exist: {agent.workspace}"
            hint = "create it, or correct the path"
            yield settings.origins.tree.finding(at, "workspace_missing", message, hint, severity=Severity.WARNING)


def _missing_paths(settings: Settings) -> Iterator[Finding]:
    """A folder of which nothing can be found, each once; what lies in a workspace that is missing is told with that."""
    seen: set[Path] = set()
    for agent in settings.agents.values():
        for at, path in zip(_path_keys(settings, agent), configured_paths(settings, agent), strict=False):
            lost_with_all = path.is_relative_to(agent.workspace) and not is_folder(agent.workspace)
            if path not in seen and not lost_with_all and not is_there(path):
                seen.add(path)
                message, hint = f"nothing is at {path}", "create it, or correct the path"
                yield settings.origins.tree.finding(at, "path_missing", message, hint, severity=Severity.WARNING)


def _path_keys(settings: Settings, agent: AgentSettings) -> Iterator[KeyPath]:
    """The key of each of `configured_paths`. Extra paths are merged of several lists: the strongest stands for all."""
    yield from (("memory", "qmd", "paths", index, "path") for index in range(len(settings.memory.qmd.paths)))
    places = settings.origins.written.get(("agents", agent.id, "memorySearch"), ())
    yield from repeat(search_key(settings.origins.tree, places, ("extraPaths",)))


def show(settings: Settings, *, origin: bool = False) -> dict[str, Any]:
    """The effective configuration in the spelling of the file; secrets are `***`.

    With `origin` every value becomes `{"value": .., "origin": ..}`; the origin is `file:line`, the flag or variable
    that gave it, or `default`.
    """
    values = effective(settings)
    return {key: _stars_and_origins(value, (key,), settings, origin=origin) for key, value in values.items()}


def effective(settings: Settings) -> dict[str, Any]:
    """Every value in force, in the spelling of the file; secrets are pydantic's stars."""
    return {
        "path": str(settings.path) if settings.path else None,
        "stateDir": str(settings.state_dir),
        "socket": str(settings.socket),
        "disabled": settings.disabled,
        "memory": _written(settings.memory),
        "agents": {agent.id: _agent(agent) for agent in settings.agents.values()},
        "sidecar": _written(settings.sidecar),
        "session": _written(settings.session),
        "tools": {"sessions": {"visibility": settings.visibility}},
        "models": {"providers": {name: _written(provider) for name, provider in settings.providers.items()}},
    }


def _agent(agent: AgentSettings) -> dict[str, Any]:
    return {
        "workspace": str(agent.workspace),
        "userTimezone": agent.timezone.key,
        "indexPath": str(agent.index_path),
        "memorySearch": _written(agent.search),
        "compaction": _written(agent.compaction),
    }


def _written(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True)


def _stars_and_origins(value: Any, at: KeyPath, settings: Settings, *, origin: bool) -> Any:
    if isinstance(value, dict) and value:
        return {key: _stars_and_origins(item, (*at, key), settings, origin=origin) for key, item in value.items()}
    hidden = value
    if value and _SECRETS.intersection(at):
        hidden = STARS
    elif isinstance(value, str) and at[-1] == "baseUrl":
        hidden = _SECRETS_OF_URL.sub(STARS, value)
    return {"value": hidden, "origin": settings.origins.of(at)} if origin else hidden
