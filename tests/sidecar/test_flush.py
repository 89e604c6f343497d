"""The reminder before a compaction: when it is due, for whom, and with which words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from sidecar.agents import Agent
from sidecar.config import Settings
from sidecar.tools import flush
from sidecar.tools.flush import NO_REPLY_HINT, Place, Reason, Session, Size, is_safe_target, prompt, trigger
from sidecar.tools.flush_ledger import LEASE_S, Result
from tests.sidecar.agent_of import configured, with_agent

WINDOW = 200_000
#: 200,000 less the reserve of 20,000 and the 4,000 of the soft threshold.
THRESHOLD = 176_000
FULL = Size(context_window=WINDOW, total_tokens=THRESHOLD)
WRITABLE = Place(access="rw")
MAIN = Session(key="agent:main:main")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()


def ask(
    folder: Path,
    session: Session = MAIN,
    size: Size = FULL,
    place: Place = WRITABLE,
    *,
    config: str = "{}",
    now: float = NOON,
) -> dict[str, Any]:
    """One question of a gateway; each time the daemon has just started."""

    async def scenario(agent: Agent, settings: Settings, pool: Executor) -> dict[str, Any]:
        return await flush.decide(agent, session, size, place, settings, pool, lambda: now)

    return with_agent(folder, scenario, config=config)


def tell(folder: Path, result: Result, session: Session = MAIN) -> dict[str, Any]:
    """One report of a gateway."""

    async def scenario(agent: Agent, settings: Settings, pool: Executor) -> dict[str, Any]:
        return await flush.report(agent, session, result, pool)

    return with_agent(folder, scenario)


def flushing(folder: Path, text: str) -> str:
    """A configuration with this in `compaction`."""
    return f"{{agents: {{defaults: {{userTimezone: 'UTC', compaction: {{{text}}}}}}}}}"


def test_a_full_session_is_flushed_with_the_published_texts(tmp_path: Path) -> None:
    """With the day's note in them, and leave to stay silent in both."""
    assert ask(tmp_path, config=flushing(tmp_path, "")) == {
        "flush": True,
        "reason": "tokens",
        "systemPrompt": f"Session nearing compaction. Store durable memories now.\n\n{NO_REPLY_HINT}",
        "prompt": "Write any lasting notes to memory/2026-11-30.md; reply with NO_REPLY if nothing to store.",
        "targetFile": "memory/2026-11-30.md",
    }


def plan(folder: Path, config: str) -> dict[str, Any]:
    """What a gateway is told that decides for itself."""

    async def scenario(agent: Agent, settings: Settings, pool: Executor) -> dict[str, Any]:
        return flush.plan(agent, settings)

    return with_agent(folder, scenario, config=config)


def test_a_plan_has_the_numbers_and_the_texts_with_the_day_left_open(tmp_path: Path) -> None:
    """By which the daemon itself decides."""
    config = flushing(tmp_path, "reserveTokensFloor: 9, memoryFlush: {softThresholdTokens: 8, prompt: 'Keep it.'}")
    assert plan(tmp_path, config) == {
        "enabled": True,
        "reserveTokensFloor": 9,
        "softThresholdTokens": 8,
        "forceFlushTranscriptBytes": 2_097_152,
        "systemPrompt": f"Session nearing compaction. Store durable memories now.\n\n{NO_REPLY_HINT}",
        "prompt": f"Keep it.\n\n{NO_REPLY_HINT}",
        "targetFile": "memory/YYYY-MM-DD.md",
        "timezone": "UTC",
    }


@pytest.mark.parametrize(
    "config", ["{plugins: {slots: {memory: 'none'}}}", flushing(Path(), "memoryFlush: {enabled: false}")]
)
def test_a_plan_says_when_there_are_no_flushes(tmp_path: Path, config: str) -> None:
    assert plan(tmp_path, config)["enabled"] is False


def test_a_plan_grants_nothing(tmp_path: Path) -> None:
    """Who asks for one may still ask for a flush."""
    assert plan(tmp_path, "{}")["enabled"] is True
    assert ask(tmp_path)["flush"] is True


@pytest.mark.parametrize(
    ("window", "tokens", "transcript", "limit", "reason"),
    [
        (WINDOW, THRESHOLD - 1, None, 100, Reason.BELOW_THRESHOLD),
        (WINDOW, THRESHOLD, None, 100, Reason.TOKENS),
        (WINDOW, WINDOW * 2, None, 100, Reason.TOKENS),
        (WINDOW, None, None, 100, Reason.TOKENS_UNKNOWN),
        (WINDOW, None, 99, 100, Reason.TOKENS_UNKNOWN),
        (WINDOW, None, 100, 100, Reason.TRANSCRIPT_BYTES),
        (WINDOW, 0, 100, 100, Reason.TRANSCRIPT_BYTES),
        (WINDOW, 0, 10**12, 0, Reason.BELOW_THRESHOLD),
        (24_000, 24_000, None, 100, Reason.WINDOW_TOO_SMALL),
        (8_192, 8_192, 99, 100, Reason.WINDOW_TOO_SMALL),
        (8_192, 8_192, 100, 100, Reason.TRANSCRIPT_BYTES),
        (24_001, 1, None, 100, Reason.TOKENS),
        (24_001, 0, None, 100, Reason.BELOW_THRESHOLD),
    ],
)
def test_tokens_or_the_transcript_make_a_session_full(
    tmp_path: Path, window: int, tokens: int | None, transcript: int | None, limit: int, reason: Reason
) -> None:
    """Never tokens in a window that the reserve fills, and never a size that nobody knows."""
    config = flushing(tmp_path, f"memoryFlush: {{forceFlushTranscriptBytes: {limit}}}")
    compaction = configured(tmp_path, config).agents["main"].compaction
    assert trigger(Size(context_window=window, total_tokens=tokens, transcript_bytes=transcript), compaction) is reason


@pytest.mark.parametrize(
    ("session", "place", "reason"),
    [
        (Session(key="agent:main:telegram:group:1"), WRITABLE, "denied"),
        (Session(key="agent:other:main"), WRITABLE, "denied"),
        (Session(key=""), WRITABLE, "denied"),
        (Session(key="agent:main:subagent:1"), WRITABLE, "denied"),
        (Session(key="agent:main:subagent:1", parent_key="agent:main:main"), WRITABLE, "unattended_session"),
        (Session(key="agent:main:cron:daily"), WRITABLE, "unattended_session"),
        (Session(key="agent:main:hook:mail"), WRITABLE, "unattended_session"),
        (Session(key="agent:main:main:heartbeat"), WRITABLE, "unattended_session"),
        (MAIN, Place(access="ro"), "read_only"),
        (MAIN, Place(access="none"), "read_only"),
        (MAIN, Place(access="ro", sandboxed=True), "sandboxed"),
        (MAIN, Place(access="none", sandboxed=True), "sandboxed"),
    ],
)
def test_some_sessions_are_never_flushed(tmp_path: Path, session: Session, place: Place, reason: str) -> None:
    """However full, and no prompt is given away."""
    reply = ask(tmp_path, session, FULL, place)
    assert (reply["flush"], reply["reason"]) == (False, reason)
    assert not {"prompt", "systemPrompt", "targetFile"} & reply.keys()
    assert ("denied" in reply) is (reason == "denied")


def test_a_sandbox_that_may_write_is_flushed(tmp_path: Path) -> None:
    """The sandbox alone is no reason against it."""
    assert ask(tmp_path, place=Place(access="rw", sandboxed=True))["flush"] is True


@pytest.mark.parametrize(
    "config",
    [
        "{agents: {defaults: {compaction: {memoryFlush: {enabled: false}}}}}",
        "{agents: {list: [{id: 'main', compaction: {memoryFlush: {enabled: false}}}]}}",
        "{plugins: {slots: {memory: 'none'}}}",
    ],
)
def test_the_configuration_can_turn_it_off(tmp_path: Path, config: str) -> None:
    """For all agents, for one, and with memory as a whole."""
    assert ask(tmp_path, config=config) == {"flush": False, "reason": "disabled"}


def test_an_agent_whose_search_is_off_is_still_flushed(tmp_path: Path) -> None:
    """Notes are worth writing whoever searches them."""
    assert ask(tmp_path, config="{agents: {defaults: {memorySearch: {enabled: false}}}}")["flush"] is True


def test_a_cycle_is_flushed_once_whatever_restarts(tmp_path: Path) -> None:
    """However the session's key is spelled."""
    assert ask(tmp_path)["flush"] is True
    assert ask(tmp_path, Session(key="Main"))["reason"] == "under_way"
    assert tell(tmp_path, Result.DONE, Session(key="AGENT:main:MAIN")) == {"state": "done", "failures": 0}
    assert ask(tmp_path, now=NOON + LEASE_S)["reason"] == "already_flushed"
    assert ask(tmp_path, Session(key="agent:main:main", compactions=1))["flush"] is True


def test_a_question_that_is_answered_with_no_uses_nothing_up(tmp_path: Path) -> None:
    """The flush is still to be had when the session is full."""
    assert ask(tmp_path, size=Size(context_window=WINDOW, total_tokens=1))["flush"] is False
    assert ask(tmp_path, place=Place(access="ro"))["flush"] is False
    assert ask(tmp_path)["flush"] is True


def test_the_third_failure_ends_the_cycle_and_tells_the_user(tmp_path: Path) -> None:
    """In the words that OpenClaw's users know."""
    for _ in range(2):
        assert ask(tmp_path)["flush"] is True
        assert tell(tmp_path, Result.FAILED)["state"] == "retry"
    assert ask(tmp_path)["flush"] is True
    told, asked = tell(tmp_path, Result.FAILED), ask(tmp_path)
    assert (told["state"], told["failures"]) == ("exhausted", 3)
    assert (asked["flush"], asked["reason"]) == (False, "exhausted")
    assert told["notice"] == asked["notice"]
    assert told["notice"]["message"].startswith("⚠️ Memory flush failed after 3 attempts; skipping for this cycle.")


def test_a_session_that_may_not_ask_may_not_report(tmp_path: Path) -> None:
    """A key of another agent names a session of that one."""
    assert ask(tmp_path)["flush"] is True
    assert tell(tmp_path, Result.DONE, Session(key="agent:other:main"))["state"] == "denied"
    assert ask(tmp_path)["reason"] == "under_way"


def test_a_report_about_nothing_is_answered(tmp_path: Path) -> None:
    """It is no error: the ledger may have been lost meanwhile."""
    assert tell(tmp_path, Result.DONE) == {"state": "unknown"}


def test_without_a_ledger_nobody_is_flushed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Else every turn would be preceded by a flush, and a full disk would take no note anyway."""
    (configured(tmp_path, "{}").agents["main"].state_dir / flush.LEDGER).mkdir(parents=True)
    assert ask(tmp_path) == {"flush": False, "reason": "ledger_unusable"}
    assert tell(tmp_path, Result.DONE) == {"state": "ledger_unusable"}
    assert "flush ledger unusable" in caplog.text


def test_two_agents_have_nothing_to_do_with_each_other(tmp_path: Path) -> None:
    """Both may have a session `main`."""
    config = f"{{agents: {{list: [{{id: 'main'}}, {{id: 'ops', workspace: '{tmp_path}/ops'}}]}}}}"

    async def asked(agent: Agent, settings: Settings, pool: Executor) -> dict[str, Any]:
        return await flush.decide(agent, Session(key="main"), FULL, WRITABLE, settings, pool)

    assert with_agent(tmp_path, asked, config=config, agent="main")["flush"] is True
    assert with_agent(tmp_path, asked, config=config, agent="ops")["flush"] is True


def test_of_two_callers_at_once_one_is_told_to_flush(tmp_path: Path) -> None:
    """Two gateways may serve one session."""

    async def both(agent: Agent, settings: Settings, pool: Executor) -> dict[str, Any]:
        asked = (flush.decide(agent, MAIN, FULL, WRITABLE, settings, pool) for _ in range(8))
        return {"replies": await asyncio.gather(*asked)}

    replies = with_agent(tmp_path, both)["replies"]
    assert sorted(reply["reason"] for reply in replies) == ["tokens"] + ["under_way"] * 7


@pytest.mark.parametrize(
    ("zone", "moment", "day"),
    [
        ("UTC", "2026-11-30T12:00:00+00:00", "2026-11-30"),
        ("Pacific/Kiritimati", "2026-11-30T12:00:00+00:00", "2026-12-01"),
        ("Pacific/Pago_Pago", "2026-11-30T10:59:59+00:00", "2026-11-29"),
        ("Europe/Paris", "2026-03-28T22:59:59+00:00", "2026-03-28"),
        ("Europe/Paris", "2026-03-28T23:00:00+00:00", "2026-03-29"),
        ("Europe/Paris", "2026-10-25T22:59:59+00:00", "2026-10-25"),
        ("Europe/Paris", "2026-10-25T23:00:00+00:00", "2026-10-26"),
    ],
)
def test_the_day_is_the_users(tmp_path: Path, zone: str, moment: str, day: str) -> None:
    """Wherever the host stands, and whatever the clocks do that night."""
    config = f"{{agents: {{defaults: {{userTimezone: '{zone}'}}}}}}"
    reply = ask(tmp_path, config=config, now=datetime.fromisoformat(moment).timestamp())
    assert reply["targetFile"] == f"memory/{day}.md"
    assert f"memory/{day}.md" in reply["prompt"]


def test_configured_texts_are_dated_everywhere_and_may_stay_as_they_are(tmp_path: Path) -> None:
    """The hint is added only where nothing says NO_REPLY."""
    day = date(2026, 11, 30)
    assert prompt("YYYY-MM-DD: to notes/YYYY-MM-DD.md, or NO_REPLY", day) == (
        "2026-11-30: to notes/2026-11-30.md, or NO_REPLY"
    )
    assert prompt("Schreib auf, was bleibt.", day) == f"Schreib auf, was bleibt.\n\n{NO_REPLY_HINT}"
    config = flushing(tmp_path, "memoryFlush: {prompt: 'Save to YYYY-MM-DD. NO_REPLY', systemPrompt: ' '}")
    reply = ask(tmp_path, config=config)
    assert reply["prompt"] == "Save to 2026-11-30. NO_REPLY"
    assert reply["systemPrompt"].startswith("Session nearing compaction.")


def test_nothing_is_written_to_the_workspace(tmp_path: Path) -> None:
    """The agent writes its note itself, folder and all."""
    assert ask(tmp_path)["flush"] is True
    assert list((tmp_path / ".openclaw" / "workspace").iterdir()) == []


def test_a_note_that_would_lie_outside_the_workspace_is_not_asked_for(tmp_path: Path) -> None:
    """And the flush is still to be had once that is put right."""
    (tmp_path / "elsewhere").mkdir()
    workspace = tmp_path / ".openclaw" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "memory").symlink_to(tmp_path / "elsewhere")
    assert ask(tmp_path) == {"flush": False, "reason": "unsafe_target"}
    (workspace / "memory").unlink()
    assert ask(tmp_path)["flush"] is True


def test_a_target_is_a_file_that_is_or_can_be_inside_the_workspace(tmp_path: Path) -> None:
    """Links may lead anywhere inside it, and the workspace itself may be one."""
    real, linked = tmp_path / "real", tmp_path / "linked"
    (real / "notes").mkdir(parents=True)
    linked.symlink_to(real)
    for workspace in (real, linked, tmp_path / "not-yet"):
        assert is_safe_target(workspace, "memory/a.md")
    (real / "memory").symlink_to("notes")
    assert is_safe_target(linked, "memory/a.md")
    (real / "notes" / "a.md").write_text("text", encoding="utf-8")
    (real / "notes" / "folder.md").mkdir()
    (real / "notes" / "out.md").symlink_to(tmp_path / "nowhere.md")
    (real / "notes" / "loop.md").symlink_to("loop.md")
    safe = {name: is_safe_target(real, f"memory/{name}.md") for name in ("a", "b", "folder", "out", "loop")}
    assert safe == {"a": True, "b": True, "folder": False, "out": False, "loop": False}


@pytest.mark.parametrize("make", [Path.touch, lambda path: path.symlink_to("memory")])
def test_a_memory_that_is_no_folder_takes_no_notes(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """A file, or a link that leads to itself."""
    make(tmp_path / "memory")
    assert not is_safe_target(tmp_path, "memory/a.md")
