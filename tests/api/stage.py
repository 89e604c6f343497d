"""A small memory, and a daemon that holds it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.running import Running, running

AGENT = "main"
NOTES = {
    "MEMORY.md": "# Facts\n\nRavi is allergic to walnuts.\n",
    "memory/2026-02-10.md": "# 2026-02-10\n\n- The boat to Corvo leaves at nine from the north pier.\n",
}


@contextmanager
def stage(folder: Path) -> Iterator[Running]:
    """A daemon with one agent and two notes, on the built-in engine."""
    for name, text in NOTES.items():
        note = folder / "workspace" / name
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(text, encoding="utf-8")
    config = {"memory": {"backend": "builtin"}, "agents": {"defaults": {"workspace": str(folder / "workspace")}}}
    with running(folder / "daemon", config) as daemon:
        daemon.sync(AGENT)
        yield daemon
