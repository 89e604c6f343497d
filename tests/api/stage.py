"""A small memory, and a daemon that holds it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.exporter.conftest import said
from tests.running import Running, running

AGENT = "main"
NOTES = {
    "MEMORY.md": "# Facts\n\n- Ravi is allergic to walnuts. <!-- trigger: walnuts -->\n",
    "memory/2026-02-10.md": "# 2026-02-10\n\n- The boat to Corvo leaves at nine from the north pier.\n",
}
TALK = ("When does the boat to Corvo leave?", "password: hunter2")


@contextmanager
def stage(folder: Path) -> Iterator[Running]:
    """A daemon with one agent, two notes and a conversation, on the built-in engine."""
    for name, text in NOTES.items():
        note = folder / "workspace" / name
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(text, encoding="utf-8")
    transcripts = folder / "transcripts"
    transcripts.mkdir()
    lines = [json.dumps(said("user", text)) + "\n" for text in TALK]
    (transcripts / "s1.jsonl").write_text("".join(lines), encoding="utf-8")
    config = {
        "memory": {"backend": "builtin", "qmd": {"sessions": {"enabled": True}}},
        "agents": {"defaults": {"workspace": str(folder / "workspace")}},
        "sidecar": {"transcripts": str(transcripts)},
        "tools": {"sessions": {"visibility": "agent"}},
    }
    with running(folder / "daemon", config) as daemon:
        daemon.sync(AGENT)
        yield daemon
