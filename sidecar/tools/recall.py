"""The search path: scope -> engine -> limits -> citations -> a reply that explains itself.

Engines return passages that were read back from their files and scored alike; here is decided who may see
them and what is asked. `limits`, `citations` and `replies` shape what leaves, `refusals` what is said instead.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal

from backends.base import Answer, BackendError, Mode, Notice, Query, Source
from scope import Decision
from sidecar.agents import Agent
from sidecar.config import Memory, Settings
from sidecar.sessions.visibility import Visible
from sidecar.tools import refusals
from sidecar.tools.admission import admit, conversations_for
from sidecar.tools.citations import cites
from sidecar.tools.daily_notes import today
from sidecar.tools.emptiness import why_nothing
from sidecar.tools.limits import snippet_chars
from sidecar.tools.replies import reply

log = logging.getLogger(__name__)

#: A question longer than this is clipped, with a notice: no engine profits from more words.
MAX_QUERY_CHARS = 4000
#: Searches look for changes at most this often: file events are the usual way, but not every disk sends them.
SEARCH_SYNC_PAUSE_S = 60.0

SOURCES = {
    "all": frozenset(Source),
    "memory": frozenset({Source.MEMORY}),
    "sessions": frozenset({Source.SESSIONS}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What a caller asks; None means the configured value.

    `visible_sessions` are keys of sessions that it may see besides its own; `sandboxed` narrows what it sees.
    """

    text: str
    session_key: str | None = None
    parent_session_key: str | None = None
    visible_sessions: Sequence[str] = ()
    sandboxed: bool = False
    max_results: int | None = None
    min_score: float | None = None
    corpus: Literal["all", "memory", "sessions"] = "all"
    mode: Literal["search", "vsearch", "query"] | None = None
    after: date | None = None
    before: date | None = None
    timeout_s: float | None = None
    explain: bool = False


async def search(agent: Agent, request: SearchRequest, settings: Settings) -> dict[str, Any]:
    """Answer one search. Never raises for an engine that fails: that is the outcome `unavailable`."""
    memory = settings.memory
    # First, and before anything else is looked at: a denial is the same whatever there is.
    decision = admit(agent, request.session_key, request.parent_session_key, door="search")
    if not decision.allowed:
        return refusals.denied(memory, decision)
    if not agent.enabled:
        return refusals.disabled(memory, agent.settings.off_by)
    cite = cites(memory, decision)
    query, notices = _query(agent, request, memory, cite=cite)
    seen = await _seen(agent, request, decision)
    query = replace(query, sources=_sources(agent, request, seen), sessions=seen.paths)
    try:
        answer = await _asked(agent, query)
    except BackendError as error:
        log.warning("search failed", extra={"fields": {"agent": agent.id, "reason": error.failure}})
        # An index that is lost comes back by a sync, and nobody else may ask for one.
        agent.syncs.refresh("failed search")
        return refusals.unavailable(memory, error, agent.embedded_by, agent.notices_of_workspace())
    why = why_nothing(agent, query, answer, corpus=request.corpus, seen=seen)
    told = (*notices, *_without_vectors(query, answer), *why)
    said = reply(answer, memory, cite=cite, notices=told, provider=agent.embedded_by)
    await _cite_conversations(agent, said["results"], answer, with_key=decision.kind == "cli")
    return said


async def _seen(agent: Agent, request: SearchRequest, decision: Decision) -> Visible:
    """The conversations that may be searched; looked at only where they are asked for."""
    if request.corpus == "memory" or not agent.has_sessions:
        return Visible(paths=None)
    return await conversations_for(agent, request, decision)


async def _cite_conversations(
    agent: Agent, results: Sequence[dict[str, Any]], answer: Answer, *, with_key: bool
) -> None:
    """Say of every result that is of a conversation which one, when, and where in the transcript."""
    if agent.conversations is None:
        return
    shown = answer.hits[: len(results)]
    cited = await agent.conversations.cited(shown, agent.corpus, with_key=with_key)
    for result, session in zip(results, cited, strict=True):
        if session is not None:
            result["session"] = session


async def _asked(agent: Agent, query: Query) -> Answer:
    """The engine's answer, with what the agent knows about it. Raises `BackendError`."""
    await agent.workspace.look()
    # Of before and after: a sync that ends meanwhile may have come too late for this answer.
    waiting = agent.syncs.pending_by_engine()
    answer = await agent.search.search(query)
    sync = agent.settings.search.sync
    if sync.on_search:
        agent.syncs.refresh("search", pause_s=SEARCH_SYNC_PAUSE_S if sync.watch else 0.0)
    return replace(
        answer,
        pending=answer.pending or agent.syncs.pending(answer.engine) or waiting.get(answer.engine),
        notices=(*answer.notices, *agent.notices_about(answer.engine)),
    )


def _without_vectors(query: Query, answer: Answer) -> Iterator[Notice]:
    """That keywords answered who asked for vectors, where the engine has not said why."""
    if query.mode is Mode.VSEARCH and answer.mode is not Mode.VSEARCH and not answer.notices:
        message = "vectors were asked for, but there are none to compare: keywords were searched"
        yield Notice("keywords_only", message, "see memorySearch.provider, or ask with another mode")


def _query(agent: Agent, request: SearchRequest, memory: Memory, *, cite: bool) -> tuple[Query, list[Notice]]:
    limits = memory.qmd.limits
    text, notices = clean(request.text)
    timeout_s = min(request.timeout_s or limits.timeout_ms / 1000, limits.timeout_ms / 1000)
    query = Query(
        text=text,
        max_results=request.max_results or limits.max_results,
        min_score=agent.settings.search.query.min_score if request.min_score is None else request.min_score,
        max_chars=snippet_chars(limits, cite=cite),
        deadline_at=time.monotonic() + timeout_s,
        mode=Mode(request.mode) if request.mode else memory.qmd.search_mode,
        after=request.after,
        before=request.before,
        today=today(agent.settings.timezone, time.time),
        explain=request.explain,
    )
    return query, notices


def _sources(agent: Agent, request: SearchRequest, seen: Visible) -> frozenset[Source]:
    """What may be searched. A restriction that restricts nothing is dropped: engines answer faster without one."""
    none = seen.paths is not None and not seen.paths
    allowed = SOURCES[request.corpus] - {Source.SESSIONS} if none else SOURCES[request.corpus]
    return SOURCES["all"] if allowed == SOURCES["memory"] and not agent.has_sessions else allowed


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def clean(text: str) -> tuple[str, list[Notice]]:
    """Plain text of bounded length: control characters become spaces."""
    text = _CONTROL.sub(" ", text).strip()
    if len(text) <= MAX_QUERY_CHARS:
        return text, []
    notice = Notice("query_clipped", f"only the first {MAX_QUERY_CHARS} characters were used", "ask a shorter question")
    return text[:MAX_QUERY_CHARS], [notice]
