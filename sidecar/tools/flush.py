"""The reminder before a compaction: whether a session should write down what matters, and with which words.

The gateway asks before a turn, runs the silent turn itself and reports how it went. Nothing is written to the
workspace here; that one session is not reminded twice is in the ledger.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Literal

from backends.base import Notice
from scope import Decision, parse
from sidecar.agents import Agent
from sidecar.config import Compaction, Settings
from sidecar.config.timezones import UNNAMED
from sidecar.shapes import notice_json
from sidecar.tools.admission import admit, denied_json
from sidecar.tools.daily_notes import OPEN_DAY, Wall, daily_note, today
from sidecar.tools.flush_ledger import Claim, Cycle, FlushLedger, LedgerError, Result, Stage

log = logging.getLogger(__name__)

LEDGER: Final = "flushes.sqlite"
#: The disk is asked about two paths and a small file.
TIMEOUT_S: Final = 10.0
#: Nobody talks in these, or somebody whom the owner does not know, and no later turn would miss what was said.
UNATTENDED: Final = frozenset({"heartbeat", "cron", "hook", "subagent"})
NO_REPLY: Final = "NO_REPLY"
NO_REPLY_HINT: Final = f"If no user-visible reply is needed, start with {NO_REPLY}."
EXHAUSTED: Final = Notice(
    "memory_flush_exhausted",
    "⚠️ Memory flush failed after 3 attempts; skipping for this cycle. It will retry after the next compaction.",
    "see in the gateway's log why the flush failed",
)


class Reason(StrEnum):
    """Why a session is to be flushed (the first two), or why not."""

    TOKENS = "tokens"
    TRANSCRIPT_BYTES = "transcript_bytes"
    DISABLED = "disabled"
    DENIED = "denied"
    UNATTENDED = "unattended_session"
    SANDBOXED = "sandboxed"
    READ_ONLY = "read_only"
    BELOW_THRESHOLD = "below_threshold"
    TOKENS_UNKNOWN = "tokens_unknown"
    WINDOW_TOO_SMALL = "window_too_small"
    UNSAFE_TARGET = "unsafe_target"
    UNDER_WAY = "under_way"
    ALREADY_FLUSHED = "already_flushed"
    EXHAUSTED = "exhausted"
    LEDGER_UNUSABLE = "ledger_unusable"


TRIGGERS: Final = frozenset({Reason.TOKENS, Reason.TRANSCRIPT_BYTES})


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Who asks. `id` tells the conversations apart that one key had; `compactions` counts them in this one."""

    key: str | None
    parent_key: str | None = None
    id: str | None = None
    compactions: int = 0

    def cycle(self) -> Cycle:
        """The session as the ledger knows it, however its key is spelled."""
        return Cycle.of(parse(self.key).normalized, self.id, self.compactions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How full a session is. None: the gateway does not know."""

    context_window: int
    total_tokens: int | None = None
    transcript_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the session may do with its workspace."""

    access: Literal["rw", "ro", "none"]
    sandboxed: bool = False


async def decide(
    agent: Agent,
    session: Session,
    size: Size,
    place: Place,
    settings: Settings,
    pool: Executor,
    wall: Wall = time.time,
) -> dict[str, Any]:
    """Whether the gateway should run a flush now, with its prompts. Who gets `flush: true` is the only one.

    Raises `TimeoutError` when the disk does not answer.
    """
    decision = admit(agent, session.key, session.parent_key, door="flush")
    compaction = agent.settings.compaction
    reason = _refusal(decision, place, compaction, settings) or trigger(size, compaction)
    if reason in TRIGGERS:
        day = today(agent.settings.timezone, wall)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(TIMEOUT_S):
            refusal = await loop.run_in_executor(pool, lambda: _claimed(agent, session, day, wall()))
        if refusal is None:
            return {"flush": True, "reason": reason, **_texts(compaction, day)}
        reason = refusal
    return {
        "flush": False,
        "reason": reason,
        **({"denied": denied_json(decision)} if reason is Reason.DENIED else {}),
        **({"notice": notice_json(EXHAUSTED)} if reason is Reason.EXHAUSTED else {}),
    }


def _refusal(decision: Decision, place: Place, compaction: Compaction, settings: Settings) -> Reason | None:
    """Why this session is never flushed, however full it is."""
    if settings.disabled or not compaction.memory_flush.enabled:
        return Reason.DISABLED
    if not decision.allowed:
        return Reason.DENIED
    if decision.kind in UNATTENDED:
        return Reason.UNATTENDED
    if place.access != "rw":
        return Reason.SANDBOXED if place.sandboxed else Reason.READ_ONLY
    return None


def trigger(size: Size, compaction: Compaction) -> Reason:
    """What of a session's size asks for a flush, one of `TRIGGERS`, or why nothing does."""
    flush = compaction.memory_flush
    threshold = size.context_window - compaction.reserve_tokens_floor - flush.soft_threshold_tokens
    if size.total_tokens is not None and 0 < threshold <= size.total_tokens:
        return Reason.TOKENS
    limit = flush.force_flush_transcript_bytes
    if limit and size.transcript_bytes is not None and size.transcript_bytes >= limit:
        return Reason.TRANSCRIPT_BYTES
    if threshold <= 0:
        return Reason.WINDOW_TOO_SMALL
    return Reason.BELOW_THRESHOLD if size.total_tokens is not None else Reason.TOKENS_UNKNOWN


_REFUSED: Final = {
    Claim.UNDER_WAY: Reason.UNDER_WAY,
    Claim.DONE: Reason.ALREADY_FLUSHED,
    Claim.EXHAUSTED: Reason.EXHAUSTED,
}


def _claimed(agent: Agent, session: Session, day: date, now: float) -> Reason | None:
    """Why a full session is not flushed; None when it is, from here on by this caller alone."""
    if not is_safe_target(agent.settings.workspace, daily_note(day)):
        return Reason.UNSAFE_TARGET
    try:
        return _REFUSED.get(_ledger(agent).claim(session.cycle(), now))
    except LedgerError as error:
        # Not flushed: without a ledger every turn would be preceded by a flush.
        return _unusable(agent, error)


def _unusable(agent: Agent, error: LedgerError) -> Reason:
    log.warning("flush ledger unusable", extra={"fields": {"agent": agent.id, "reason": str(error)}})
    return Reason.LEDGER_UNUSABLE


def is_safe_target(workspace: Path, relative: str) -> bool:
    """Whether a note, there or not, would be a regular file inside the workspace, in a folder that is or can be."""
    target = Path(os.path.realpath(workspace / relative))
    if not target.is_relative_to(os.path.realpath(workspace)):
        return False
    try:
        if os.path.lexists(target):
            return target.is_file()
        return target.parent.is_dir() or not os.path.lexists(target.parent)
    except OSError:
        return False


def _ledger(agent: Agent) -> FlushLedger:
    return FlushLedger(agent.settings.state_dir / LEDGER)


def plan(agent: Agent, settings: Settings) -> dict[str, Any]:
    """The numbers and texts by which a gateway that decides for itself flushes; grants nothing.

    The day is left open as `YYYY-MM-DD`, so that a plan holds beyond midnight; `timezone` says whose day it is.
    """
    compaction = agent.settings.compaction
    flush, zone = compaction.memory_flush, agent.settings.timezone.key
    return {
        "enabled": flush.enabled and not settings.disabled,
        "reserveTokensFloor": compaction.reserve_tokens_floor,
        "softThresholdTokens": flush.soft_threshold_tokens,
        "forceFlushTranscriptBytes": flush.force_flush_transcript_bytes,
        "systemPrompt": allowing_silence(flush.system_prompt),
        "prompt": allowing_silence(flush.prompt),
        "targetFile": daily_note(OPEN_DAY),
        **({} if zone == UNNAMED else {"timezone": zone}),
    }


def _texts(compaction: Compaction, day: date) -> dict[str, str]:
    flush = compaction.memory_flush
    return {
        "systemPrompt": prompt(flush.system_prompt, day),
        "prompt": prompt(flush.prompt, day),
        "targetFile": daily_note(day),
    }


def prompt(text: str, day: date) -> str:
    """A configured text for a day, which tells the agent that it may stay silent."""
    return allowing_silence(text).replace(OPEN_DAY, day.isoformat())


def allowing_silence(text: str) -> str:
    """A configured text, with a sentence that allows no reply where it has none."""
    return text if NO_REPLY in text else f"{text}\n\n{NO_REPLY_HINT}"


async def report(agent: Agent, session: Session, result: Result, pool: Executor) -> dict[str, Any]:
    """Note how a flush went, and say what that means for the rest of its cycle.

    Raises `TimeoutError` when the disk does not answer.
    """
    decision = admit(agent, session.key, session.parent_key, door="flush")
    if not decision.allowed:
        return {"state": Reason.DENIED, "denied": denied_json(decision)}
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(TIMEOUT_S):
            entry = await loop.run_in_executor(pool, lambda: _ledger(agent).settle(session.cycle(), result))
    except LedgerError as error:
        return {"state": _unusable(agent, error)}
    if entry is None:
        return {"state": "unknown"}
    if result is Result.FAILED:
        fields = {"agent": agent.id, "failures": entry.failures, "state": entry.stage}
        log.warning("memory flush failed", extra={"fields": fields})
    return {
        "state": entry.stage,
        "failures": entry.failures,
        **({"notice": notice_json(EXHAUSTED)} if entry.stage is Stage.EXHAUSTED else {}),
    }
