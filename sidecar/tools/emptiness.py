"""Why a list is empty: everything that kept a search from finding more, each with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from backends.base import Answer, Notice, Query
from sidecar.agents import Agent
from sidecar.sessions.visibility import Visible

_NO_SESSIONS = Notice(
    "sessions_off",
    "conversations are not part of this agent's memory",
    "set memory.qmd.sessions.enabled to true, or search another corpus",
)
_NO_NOTES = Notice(
    "no_notes",
    "this agent's memory holds no notes",
    "write MEMORY.md or memory/YYYY-MM-DD.md in its workspace, or add folders to memory.qmd.paths",
)

_WIDE = frozenset({"agent", "all"})
_NARROW = "name them in visibleSessions; with visibility agent every session that may search sees every conversation"
_FOREIGN = "their keys are those of another agent: see sessions.json beside the transcripts"


def why_nothing(agent: Agent, query: Query, answer: Answer, *, corpus: str, seen: Visible) -> Iterator[Notice]:
    """The reasons for an answer without hits, and what was not searched for one with fewer than were wanted.

    `seen` are the conversations that the caller may see.
    """
    if seen.hidden and len(answer.hits) < query.max_results:
        yield _hidden(seen)
    if answer.hits:
        return
    if corpus == "sessions" and not agent.has_sessions:
        yield _NO_SESSIONS
    if query.after or query.before:
        yield Notice("date_range", f"only {_days(query.after, query.before)} was searched", "widen after and before")
    if answer.pending is None and agent.search.status().documents == 0:
        yield _NO_NOTES
    if answer.below_min_score:
        yield _irrelevant(answer.below_min_score, query.min_score)


def _hidden(seen: Visible) -> Notice:
    # Of all, not of those that hold the words: that would tell a session what others talk about.
    message = f"conversations not searched: {seen.hidden}, which visibility {seen.rule} does not show to this session"
    return Notice("sessions_hidden", message, _FOREIGN if seen.rule in _WIDE else _NARROW)


def _days(after: date | None, before: date | None) -> str:
    if after and before:
        return f"what is dated from {after} to {before}"
    return f"what is dated {after} or later" if after else f"what is dated {before} or earlier"


def _irrelevant(files: int, min_score: float) -> Notice:
    message = f"nothing in the files that were looked at ({files}) is as relevant as minScore {min_score:g}"
    return Notice("below_min_score", message, "ask in other words, or with a lower minScore")
