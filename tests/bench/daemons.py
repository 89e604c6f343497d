"""Daemons to be measured: their configuration, their notes, and an engine that has answered once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench.asking import Session
from tests.bench.conversation import Corpus
from tests.running import Running

#: Long enough that the clock is not the limit; the figures are what is looked at.
TIMEOUT_MS = 60_000
#: Nothing is synced but on request: what is timed is what was asked for.
ON_REQUEST: Mapping[str, Any] = {"onSearch": False, "watch": False}


def config(
    *workspaces: Path, backend: str = "builtin", sync: Mapping[str, Any] = ON_REQUEST, provider: str = "static"
) -> dict[str, Any]:
    """The default configuration but for the engine, the time-outs and what begins a sync; an agent per workspace.

    Agents are called as their workspaces are.
    """
    return {
        "memory": {
            "backend": backend,
            "qmd": {"limits": {"timeoutMs": TIMEOUT_MS}, "update": {"updateTimeoutMs": 600_000, "interval": "6h"}},
        },
        "agents": {
            "defaults": {"memorySearch": {"sync": dict(sync), "provider": provider}},
            "list": [{"id": workspace.name, "workspace": str(workspace)} for workspace in workspaces],
        },
    }


def place(notes: Corpus, workspace: Path) -> None:
    """Write notes aside and move them in at once, so that their writing is not part of what is timed."""
    aside = workspace.with_name(f"{workspace.name}-aside")
    notes.write(aside)
    workspace.mkdir(parents=True, exist_ok=True)
    (aside / "memory").rename(workspace / "memory")


@contextmanager
def warmed_up(daemon: Running, engine: str, question: str) -> Iterator[Callable[[str], dict[str, Any]]]:
    """How to ask a daemon, which has answered once with the engine that is meant."""
    with Session(daemon.client.path) as session:
        answered = session.search(question)["backend"]
        assert answered == engine, answered
        yield session.search
