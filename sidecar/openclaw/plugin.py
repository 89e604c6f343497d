"""Putting the plugin into OpenClaw, and taking it out again; both end in the same state however often they run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

from sidecar.openclaw.host import ENTRY, PLUGIN_FOLDER, PLUGIN_ID, Host, Settings

#: A key with what it was and what it is; None is a key that is not there.
Change: TypeAlias = tuple[str, Any, Any]


def install(host: Host, socket: Path | None) -> list[Change]:
    """Install and enable the plugin in the memory slot; returns what changed in the configuration.

    `socket` is where the daemon listens, for one that the plugin would not find by itself.
    """
    before = host.settings()
    host.run("plugins", "install", str(PLUGIN_FOLDER), "--force", "--accept-capabilities")
    if not _is_in_use(host.settings()):
        # Where it was switched off before, OpenClaw's install takes that for its user's wish.
        host.run("plugins", "enable", PLUGIN_ID, "--accept-capabilities")
    # Unless this stands in the file, memory-core is loaded beside us: a default of our schema is not seen by it.
    config: dict[str, Any] = {"dreaming": {"enabled": False}}
    if socket is not None:
        config["socketPath"] = str(socket.absolute())
    host.merge(f"{ENTRY}.config", config)
    return _changes(before, host.settings())


def uninstall(host: Host) -> list[Change]:
    """Remove the plugin with its settings; OpenClaw's own memory has the slot again. Returns what changed."""
    before = host.settings()
    if any(row["id"] == PLUGIN_ID for row in host.read("plugins", "list")["plugins"]):
        host.run("plugins", "uninstall", PLUGIN_ID, "--force")
    if host.settings().entry is not None:
        host.run("config", "unset", ENTRY)
    return _changes(before, host.settings())


def _is_in_use(settings: Settings) -> bool:
    return settings.holder == PLUGIN_ID and bool((settings.entry or {}).get("enabled"))


def _changes(before: Settings, after: Settings) -> list[Change]:
    was, now = before.leaves(), after.leaves()
    return [(key, was.get(key), now.get(key)) for key in sorted({*was, *now}) if was.get(key) != now.get(key)]
