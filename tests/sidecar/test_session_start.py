"""What a session may load when it begins: by the rules of search and reading, and on the user's calendar."""

from __future__ import annotations

from concurrent.futures import Executor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sidecar.agents import Agent
from sidecar.config import Settings
from sidecar.tools import session_start
from tests.sidecar.agent_of import with_agent

MAIN = "agent:main:main"
GROUP = "agent:main:telegram:group:1"
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()
GROUPS_ALLOWED = "memory: {qmd: {scope: {default: 'allow'}}}"


def start(
    folder: Path, key: str | None = MAIN, *, parent: str | None = None, config: str = "{}", now: float = NOON
) -> dict[str, Any]:
    """One session that begins."""

    async def scenario(agent: Agent, settings: Settings, pool: Executor) -> dict[str, Any]:
        return await session_start.start(agent, key, parent, settings, pool, lambda: now)

    return with_agent(folder, scenario, config=config)


def note(folder: Path, name: str) -> Path:
    """A note in the agent's workspace."""
    path = folder / ".openclaw" / "workspace" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("text", encoding="utf-8")
    return path


def test_a_private_session_loads_two_days_and_the_long_memory(tmp_path: Path) -> None:
    """Today first; a note that nobody wrote yet is named as well."""
    note(tmp_path, "memory/2026-11-29.md")
    reply = start(tmp_path, config="{agents: {defaults: {userTimezone: 'UTC'}}}")
    assert reply == {
        "load": [
            {"path": "memory/2026-11-30.md", "exists": False},
            {"path": "memory/2026-11-29.md", "exists": True},
        ],
        "memoryMd": "allowed",
        "citationHint": session_start.CITATION_HINT,
        "sync": "queued",
    }


@pytest.mark.parametrize("key", [GROUP, "agent:other:main", "", None, "agent:main:subagent:1"])
def test_a_denied_session_learns_nothing(tmp_path: Path, key: str | None) -> None:
    """The reply is the same whether there are notes or not."""
    bare = start(tmp_path, key)
    note(tmp_path, "memory/2026-11-30.md")
    note(tmp_path, "MEMORY.md")
    reply = start(tmp_path, key)
    assert reply == bare
    assert (reply["load"], reply["memoryMd"], reply["sync"]) == ([], "denied", "off")
    assert reply["denied"]["rule"]


@pytest.mark.parametrize(
    ("key", "memory_md"),
    [
        ("agent:main:main", "allowed"),
        ("main", "allowed"),
        ("agent:main:main:thread:1", "allowed"),
        ("agent:main:telegram:direct:1", "allowed"),
        ("agent:main:telegram:group:1", "denied"),
        ("agent:main:discord:channel:1", "denied"),
        ("agent:main:cron:daily", "denied"),
        ("agent:main:hook:mail", "denied"),
        ("agent:main:main:heartbeat", "denied"),
        ("agent:main:acp:1", "denied"),
        ("agent:main:something", "denied"),
    ],
)
def test_the_long_memory_is_for_private_chats_alone(tmp_path: Path, key: str, memory_md: str) -> None:
    """Also where a rule lets everybody search."""
    assert start(tmp_path, key, config=f"{{{GROUPS_ALLOWED}}}")["memoryMd"] == memory_md


def test_a_sub_agent_may_what_its_parent_may_but_the_long_memory(tmp_path: Path) -> None:
    """Somebody else's words steer it."""
    reply = start(tmp_path, "agent:main:subagent:1", parent=MAIN)
    assert (len(reply["load"]), reply["memoryMd"]) == (2, "denied")


@pytest.mark.parametrize(
    ("zone", "moment", "days"),
    [
        ("Pacific/Kiritimati", "2026-12-31T10:00:00+00:00", ["2027-01-01", "2026-12-31"]),
        ("Pacific/Pago_Pago", "2028-03-01T10:59:59+00:00", ["2028-02-29", "2028-02-28"]),
        # 23 hours and 25 hours long.
        ("Europe/Paris", "2026-03-29T22:30:00+00:00", ["2026-03-30", "2026-03-29"]),
        ("Europe/Paris", "2026-10-25T22:30:00+00:00", ["2026-10-25", "2026-10-24"]),
        ("Europe/Paris", "2026-10-25T23:00:00+00:00", ["2026-10-26", "2026-10-25"]),
        # Midnight itself is left out when the clocks go forward.
        ("America/Sao_Paulo", "2018-11-04T03:00:00+00:00", ["2018-11-04", "2018-11-03"]),
        # A whole day is left out.
        ("Pacific/Apia", "2011-12-30T10:00:00+00:00", ["2011-12-31", "2011-12-30"]),
    ],
)
def test_the_days_are_the_users(tmp_path: Path, zone: str, moment: str, days: list[str]) -> None:
    """Yesterday is the day before on the calendar, however long it was."""
    config = f"{{agents: {{defaults: {{userTimezone: '{zone}'}}}}}}"
    reply = start(tmp_path, config=config, now=datetime.fromisoformat(moment).timestamp())
    assert [each["path"] for each in reply["load"]] == [f"memory/{day}.md" for day in days]


def test_what_could_not_be_read_is_not_named(tmp_path: Path) -> None:
    """A link tells nothing of what is behind it, and a folder is no note."""
    secret = tmp_path / "secret.md"
    secret.write_text("secret", encoding="utf-8")
    note(tmp_path, "memory/2026-11-28.md").with_name("2026-11-30.md").symlink_to(secret)
    (tmp_path / ".openclaw/workspace/memory/2026-11-29.md").mkdir()
    assert start(tmp_path, config="{agents: {defaults: {userTimezone: 'UTC'}}}")["load"] == []


def test_notes_that_are_no_memory_are_not_named(tmp_path: Path) -> None:
    """Nor would reading give them."""
    note(tmp_path, "memory/2026-11-30.md")
    assert start(tmp_path, config="{memory: {qmd: {includeDefaultMemory: false}}}")["load"] == []


def test_a_workspace_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    """Its notes are yet to be written."""
    config = f"{{agents: {{defaults: {{workspace: '{tmp_path}/not-yet'}}}}}}"
    assert [each["exists"] for each in start(tmp_path, config=config)["load"]] == [False, False]


@pytest.mark.parametrize(
    ("citations", "key", "hinted"),
    [("on", GROUP, True), ("auto", GROUP, False), ("auto", MAIN, True), ("off", MAIN, False)],
)
def test_the_hint_to_cite_follows_the_citations_of_search(
    tmp_path: Path, citations: str, key: str, *, hinted: bool
) -> None:
    """`auto` is for direct chats."""
    config = f"{{memory: {{citations: '{citations}', qmd: {{scope: {{default: 'allow'}}}}}}}}"
    assert ("citationHint" in start(tmp_path, key, config=config)) is hinted


@pytest.mark.parametrize("search", ["sync: {onSessionStart: false}", "enabled: false"])
def test_a_sync_is_begun_only_where_it_is_wanted(tmp_path: Path, search: str) -> None:
    """The notes may be loaded all the same: that is no search."""
    reply = start(tmp_path, config=f"{{agents: {{defaults: {{memorySearch: {{{search}}}}}}}}}")
    assert (reply["sync"], reply["memoryMd"], len(reply["load"])) == ("off", "allowed", 2)


def test_nothing_is_cited_where_nothing_is_searched(tmp_path: Path) -> None:
    """The hint is about what a search shows."""
    config = "{memory: {citations: 'on'}, agents: {defaults: {memorySearch: {enabled: false}}}}"
    assert "citationHint" not in start(tmp_path, config=config)


def test_nothing_is_loaded_where_memory_is_turned_off(tmp_path: Path) -> None:
    """As a whole, by OpenClaw's slot."""
    note(tmp_path, "MEMORY.md")
    reply = start(tmp_path, config="{plugins: {slots: {memory: 'none'}}}")
    assert reply == {"load": [], "memoryMd": "denied", "sync": "off"}
