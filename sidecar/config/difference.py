"""What differs between two configurations, and what of it only a restart can change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sidecar.config.json5 import KeyPath
from sidecar.config.report import effective
from sidecar.config.settings import Settings

#: What the daemon takes when it starts and keeps for its life. Of a longer key path, the start decides.
FIXED: Final[tuple[KeyPath, ...]] = (
    ("stateDir",),
    ("socket",),
    ("sidecar", "stateDir"),
    ("sidecar", "socket"),
    ("sidecar", "log", "file"),
    ("sidecar", "metrics"),
    ("sidecar", "workers"),
    ("memory", "qmd", "resident", "idleMinutes"),
    ("memory", "qmd", "resident", "max"),
    ("memory", "qmd", "resident", "maxRssMb"),
)
#: Which file it is: no key of it, and nothing that the daemon does differently.
_FILE: Final[KeyPath] = ("path",)
_ABSENT: Final = object()


def changed_keys(old: Settings, new: Settings) -> tuple[KeyPath, ...]:
    """The effective keys with another value, in the order of `config show`. Lists are compared as wholes."""
    differing = (key for key in _differing(effective(old), effective(new), ()) if key != _FILE)
    return tuple(dict.fromkeys((*differing, *_secret(old, new))))


def needs_restart(key: KeyPath) -> bool:
    """Whether a changed key is without effect until the daemon is started again."""
    return any(key[: len(fixed)] == fixed for fixed in FIXED)


def _differing(old: Any, new: Any, at: KeyPath) -> Iterator[KeyPath]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in (*old, *(key for key in new if key not in old)):
            yield from _differing(old.get(key, _ABSENT), new.get(key, _ABSENT), (*at, key))
    elif old != new:
        yield at


def _secret(old: Settings, new: Settings) -> Iterator[KeyPath]:
    """The keys that hold another secret: shown, all secrets are the same stars."""
    for name in old.providers.keys() & new.providers.keys():
        if old.providers[name].api_key != new.providers[name].api_key:
            yield ("models", "providers", name, "apiKey")
        if old.providers[name].headers != new.providers[name].headers:
            yield ("models", "providers", name, "headers")
    for agent_id in old.agents.keys() & new.agents.keys():
        before, after = old.agents[agent_id].search.remote, new.agents[agent_id].search.remote
        if before.api_key != after.api_key:
            yield ("agents", agent_id, "memorySearch", "remote", "apiKey")
        if before.headers != after.headers:
            yield ("agents", agent_id, "memorySearch", "remote", "headers")
