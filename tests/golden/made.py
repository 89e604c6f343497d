"""The state of a small home, as a release leaves it: what `python -m tests.golden` packs, and a later release opens."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from tests.exporter.conftest import said
from tests.running import Running

#: The notes and transcripts are older than any state of them, and the same to the nanosecond wherever they are laid.
_WRITTEN_AT: Final = 1_790_000_000
NOTES: Final = {
    "boat.md": "# Boat\n\nThe boat to Corvo leaves at nine.\n",
    "plane.md": "# Plane\n\nThe plane to Flores leaves at ten.\n",
}
PURGED: Final = "swordfish-4711"
_KEPT: Final = ("We planted tomatoes on the terrace.", f"The word is {PURGED}.")
#: Of a session that was purged: its file comes back with every home that is laid.
BURIED: Final = "The lighthouse keeper told us a secret."
SESSION: Final = {"sessionKey": "agent:main:main", "compactionCount": 2}
FLUSH: Final = {**SESSION, "contextWindow": 200_000, "totalTokens": 190_000, "workspaceAccess": "rw"}


def lay(home: Path) -> dict[str, Any]:
    """Write notes and transcripts below `home`; the configuration for them."""
    for name, text in NOTES.items():
        _write(home / "workspace" / "memory" / name, text)
    _write(home / "transcripts" / "kept.jsonl", "".join(json.dumps(said("user", text)) + "\n" for text in _KEPT))
    _write(home / "transcripts" / "buried.jsonl", json.dumps(said("user", BURIED)) + "\n")
    # Its vectors would be the larger part of it; they are made anew from the notes anyhow.
    return {
        "memory": {"backend": "builtin", "qmd": {"sessions": {"enabled": True}}},
        "agents": {
            "defaults": {"workspace": str(home / "workspace"), "memorySearch": {"provider": "none"}},
        },
        "sidecar": {"transcripts": str(home / "transcripts")},
        "tools": {"sessions": {"visibility": "agent"}},
    }


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    os.utime(file, (_WRITTEN_AT, _WRITTEN_AT))


def use(daemon: Running) -> None:
    """Have each kind of file written: index, exports and their ledger, tombstones of both kinds, flushes."""
    daemon.sync("main")
    daemon.call("POST", "/v1/agents/main/purge", {"pattern": PURGED})
    daemon.call("POST", "/v1/agents/main/purge", {"session": "buried"})
    daemon.call("POST", "/v1/agents/main/memory_flush", FLUSH)
    daemon.call("POST", "/v1/agents/main/memory_flush/result", {**SESSION, "result": "done"})
