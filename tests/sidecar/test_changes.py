"""States and notices are told when they change, and only while somebody watches."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from sidecar.agents import Agent
from sidecar.agents.presence import Presence
from sidecar.changes import Changes
from sidecar.events import EventType


@dataclass
class Seen:
    """An agent as far as it is looked at; `broken` ones cannot be asked."""

    id: str = "main"
    state: str = "ready"
    notices: list[str] = field(default_factory=list)
    progress: dict[str, Any] = field(default_factory=dict)
    broken: bool = False
    workspace: Presence = field(default_factory=lambda: Presence(Path()))
    looks: int = 0

    def status(self) -> dict[str, Any]:
        """What is compared."""
        self.looks += 1
        if self.broken:
            raise RuntimeError
        builtin = {"progress": self.progress} if self.progress else {}
        return {
            "state": self.state,
            "notices": [{"code": code} for code in self.notices],
            "engines": {"builtin": builtin},
        }


class Stage:
    """Changes of some agents, and what they told."""

    def __init__(self, *agents: Seen) -> None:
        self.agents = list(agents)
        self.told: list[tuple[EventType, str | None, dict[str, Any]]] = []
        self.changes = Changes(cast("list[Agent]", self.agents), self._tell, look_s=0.001)

    def _tell(self, what: EventType, agent: str | None = None, **facts: Any) -> None:
        self.told.append((what, agent, facts))


def test_the_first_look_tells_nothing_and_the_next_one_what_changed() -> None:
    """Codes, and never the words of a notice."""
    agent = Seen(notices=["old", "kept"])
    stage = Stage(agent)
    stage.changes.look()
    assert stage.told == []
    agent.state, agent.notices = "degraded", ["kept", "new"]
    stage.changes.look()
    stage.changes.look()
    assert stage.told == [
        (EventType.AGENT_STATE, "main", {"state": "degraded", "before": "ready"}),
        (EventType.NOTICE_APPEARED, "main", {"code": "new"}),
        (EventType.NOTICE_GONE, "main", {"code": "old"}),
    ]


@pytest.mark.parametrize(
    ("progress", "told"),
    [
        ({"phase": "vectors", "done": 3, "total": 9}, [(EventType.EMBED_PROGRESS, "main", {"done": 3, "total": 9})]),
        ({"phase": "batch"}, []),
    ],
)
def test_progress_is_told_where_it_has_numbers(progress: dict[str, Any], told: list[Any]) -> None:
    """Other phases have none."""
    agent = Seen()
    stage = Stage(agent)
    stage.changes.look()
    agent.progress = progress
    stage.changes.look()
    assert stage.told == told


def test_an_agent_that_comes_or_goes_is_no_change_of_another() -> None:
    """A reload is told by itself."""
    stage = Stage(Seen("a"))
    stage.changes.look()
    stage.agents[:] = [Seen("b", state="indexing")]
    stage.changes.look()
    assert stage.told == []


def test_nobody_is_looked_at_unless_somebody_watches() -> None:
    """The last of two watchers ends it."""
    agent = Seen()
    stage = Stage(agent)

    async def looked(times: int) -> None:
        async with asyncio.timeout(30):
            while agent.looks < times:
                await asyncio.sleep(0)

    async def scenario() -> int:
        with stage.changes.watched():
            with stage.changes.watched():
                await looked(2)
            await looked(agent.looks + 2)
        before = agent.looks
        await asyncio.sleep(0.01)
        return agent.looks - before

    assert asyncio.run(scenario()) == 0


def test_an_agent_that_cannot_be_asked_hides_no_other_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """Looks come every second. One that fails again after it went well is told again."""
    broken, other = Seen("broken", broken=True), Seen("other")
    stage = Stage(broken, other)
    stage.changes.look()
    other.state = "degraded"
    stage.changes.look()
    assert [told[1] for told in stage.told] == ["other"]
    assert len(caplog.records) == 1
    for broken.broken in (False, True):
        stage.changes.look()
    assert len(caplog.records) == 2
