"""What a session may load of its agent's memory when it begins, by the same decision as search and reading."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import suppress
from datetime import date, timedelta
from typing import Any, Final

from backends.corpus import Corpus
from sidecar.agents import Agent
from sidecar.config import Settings
from sidecar.tools.admission import admit, denied_json
from sidecar.tools.citations import cites
from sidecar.tools.daily_notes import Wall, daily_note, today
from sidecar.tools.paths import PathNotAllowedError, locate
from sidecar.tools.reading import TIMEOUT_S, is_there

#: Kinds of sessions in which the owner talks in private; others that count as direct only act for the owner.
PRIVATE: Final = frozenset({"main", "direct"})
CITATION_HINT: Final = "Where you use a memory, name where it stands: Source: path#line."


async def start(
    agent: Agent,
    session_key: str | None,
    parent_session_key: str | None,
    settings: Settings,
    pool: Executor,
    wall: Wall = time.time,
) -> dict[str, Any]:
    """What to load into a session that begins. A denied one learns nothing of what exists, and starts nothing.

    Raises `TimeoutError` when the disk does not answer.
    """
    decision = admit(agent, session_key, parent_session_key, door="session_start")
    if not decision.allowed:
        return {"load": [], "memoryMd": "denied", "sync": "off", "denied": denied_json(decision)}
    if settings.disabled:
        return {"load": [], "memoryMd": "denied", "sync": "off"}
    day = today(agent.settings.timezone, wall)
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(TIMEOUT_S):
        notes = await loop.run_in_executor(pool, lambda: list(_notes(agent.corpus, day)))
    return {
        "load": notes,
        "memoryMd": "allowed" if decision.kind in PRIVATE else "denied",
        **({"citationHint": CITATION_HINT} if agent.enabled and cites(settings.memory, decision) else {}),
        "sync": _sync(agent),
    }


def _notes(corpus: Corpus, day: date) -> Iterator[dict[str, Any]]:
    """The notes of a day and of the day before, as far as they could be read."""
    for path in (daily_note(day), daily_note(day - timedelta(days=1))):
        with suppress(PathNotAllowedError, OSError):
            yield {"path": path, "exists": is_there(locate(corpus, path))}


def _sync(agent: Agent) -> str:
    if not (agent.enabled and agent.settings.search.sync.on_session_start):
        return "off"
    agent.syncs.refresh("session start")
    return "queued"
