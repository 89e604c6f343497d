"""A small memory, and the daemon that keeps it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

NOTES = {
    "MEMORY.md": "# Facts\n\nThe boat leaves at nine from pier four.\n",
    "memory/2026-11-28.md": "We moved the nightly backup to half past two, because of the vacuum.\n",
}


def memory_of(folder: Path) -> dict[str, Any]:
    """Write the notes to a workspace in `folder`; the daemon's configuration for it."""
    workspace = folder / "workspace"
    for name, text in NOTES.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text, encoding="utf-8")
    return {
        "memory": {"backend": "builtin"},
        "agents": {"defaults": {"workspace": str(workspace), "userTimezone": "Pacific/Kiritimati"}},
    }
