"""The search path: scope -> engine -> limits -> citations -> a reply that explains itself.

Engines return passages that were read back from their files and scored alike; here is decided who may see
them, how much text leaves, and which one word describes the outcome.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Literal

from backends.base import Answer, BackendError, Failure, Hit, Mode, Notice, Query, Source
from backends.embedding import QUOTA
from scope import Decision
from sidecar.agents import Agent
from sidecar.config import Memory, Settings
from sidecar.sessions.exporting import sessions_visible
from sidecar.shapes import fallback_json, notice_json, pending_json
from sidecar.tools.admission import admit, denied_json

log = logging.getLogger(__name__)

#: A question longer than this is clipped, with a notice: no engine profits from more words.
MAX_QUERY_CHARS = 4000
#: Searches look for changes at most this often: file events are the usual way, but not every disk sends them.
SEARCH_SYNC_PAUSE_S = 60.0
#: Room for the footer of a citation when a snippet would fill the whole budget.
FOOTER_CHARS = 200

SOURCES = {
    "all": frozenset(Source),
    "memory": frozenset({Source.MEMORY}),
    "sessions": frozenset({Source.SESSIONS}),
}


class Outcome(StrEnum):
    """What happened, in one word."""

    HITS = "hits"
    NO_MATCH = "no_match"
    PARTIAL = "partial"
    DENIED = "denied"
    DISABLED = "disabled"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What a caller asks; None means the configured value."""

    text: str
    session_key: str | None = None
    parent_session_key: str | None = None
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
    if not agent.enabled:
        return _disabled(memory)
    decision = admit(agent, request.session_key, request.parent_session_key, door="search")
    if not decision.allowed:
        return {**_empty(memory, Outcome.DENIED), "denied": denied_json(decision)}
    cite = cites(memory, decision)
    query, notices = _query(agent, request, memory, cite=cite)
    query = replace(query, sources=_sources(agent, request, visible=sessions_visible(settings, decision)))
    # Of before and after: a sync that ends meanwhile may have come too late for this answer.
    waiting = agent.pending_by_engine()
    try:
        answer = await agent.search.search(query)
    except BackendError as error:
        log.warning("search failed", extra={"fields": {"agent": agent.id, "reason": error.failure}})
        # An index that is lost comes back by a sync, and nobody else may ask for one.
        agent.refresh("failed search")
        return _unavailable(memory, error)
    sync = agent.settings.search.sync
    if sync.on_search:
        agent.refresh("search", pause_s=SEARCH_SYNC_PAUSE_S if sync.watch else 0.0)
    answer = replace(
        answer,
        pending=answer.pending or agent.pending(answer.engine) or waiting.get(answer.engine),
        notices=(*answer.notices, *agent.notices_about(answer.engine)),
    )
    return _reply(answer, memory, cite=cite, notices=notices)


def _query(agent: Agent, request: SearchRequest, memory: Memory, *, cite: bool) -> tuple[Query, list[Notice]]:
    limits = memory.qmd.limits
    text, notices = clean(request.text)
    room = limits.max_injected_chars - (FOOTER_CHARS if cite else 0)
    timeout_s = min(request.timeout_s or limits.timeout_ms / 1000, limits.timeout_ms / 1000)
    query = Query(
        text=text,
        max_results=request.max_results or limits.max_results,
        min_score=agent.settings.search.query.min_score if request.min_score is None else request.min_score,
        max_chars=max(1, min(limits.max_snippet_chars, room)),
        deadline_at=time.monotonic() + timeout_s,
        mode=Mode(request.mode) if request.mode else memory.qmd.search_mode,
        after=request.after,
        before=request.before,
        today=datetime.now(agent.settings.timezone).date(),
        explain=request.explain,
    )
    return query, notices


def _sources(agent: Agent, request: SearchRequest, *, visible: bool) -> frozenset[Source]:
    """What may be searched. A restriction that restricts nothing is dropped: engines answer faster without one."""
    allowed = SOURCES[request.corpus] if visible else SOURCES[request.corpus] - {Source.SESSIONS}
    return SOURCES["all"] if allowed == SOURCES["memory"] and not agent.has_sessions else allowed


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def clean(text: str) -> tuple[str, list[Notice]]:
    """Plain text of bounded length: control characters become spaces."""
    text = _CONTROL.sub(" ", text).strip()
    if len(text) <= MAX_QUERY_CHARS:
        return text, []
    notice = Notice("query_clipped", f"only the first {MAX_QUERY_CHARS} characters were used", "ask a shorter question")
    return text[:MAX_QUERY_CHARS], [notice]


def cites(memory: Memory, decision: Decision) -> bool:
    """Whether a caller is shown where each memory stands."""
    return memory.citations == "on" or (memory.citations == "auto" and decision.chat_type == "direct")


def _reply(answer: Answer, memory: Memory, *, cite: bool, notices: Sequence[Notice]) -> dict[str, Any]:
    results = within(memory.qmd.limits.max_injected_chars, [_result(hit, cite=cite) for hit in answer.hits])
    left_out = len(answer.hits) - len(results)
    extra = [Notice("clipped", f"{left_out} results did not fit the character limit", "raise limits.maxInjectedChars")]
    return {
        "results": results,
        "outcome": _outcome(answer),
        "backend": answer.engine,
        "provider": answer.provider,
        "model": answer.model,
        "mode": answer.mode,
        "citations": memory.citations,
        **({"fallback": fallback_json(answer.fallback)} if answer.fallback else {}),
        **(
            {"embeddingFallback": {**fallback_json(answer.embedding_fallback), "to": answer.provider}}
            if answer.embedding_fallback
            else {}
        ),
        **({"pending": pending_json(answer.pending)} if answer.pending else {}),
        "notices": [notice_json(notice) for notice in (*notices, *answer.notices, *(extra if left_out else ()))],
        **({"explain": answer.explain} if answer.explain is not None else {}),
    }


def _outcome(answer: Answer) -> Outcome:
    if answer.partial:
        return Outcome.PARTIAL
    return Outcome.HITS if answer.hits else Outcome.NO_MATCH


def _result(hit: Hit, *, cite: bool) -> dict[str, Any]:
    citation = _citation(hit)
    return {
        "path": hit.path,
        "startLine": hit.start_line,
        "endLine": hit.end_line,
        "score": round(hit.score, 4),
        "snippet": f"{hit.snippet.strip()}\n\nSource: {citation}" if cite else hit.snippet,
        "source": hit.source,
        **({"citation": citation} if cite else {}),
        "corpus": hit.source,
        "provenance": {"root": hit.root, "kind": hit.kind, "trusted": hit.trusted},
        **({"partial": True} if hit.partial else {}),
        **({"newer": hit.newer} if hit.newer else {}),
        **({"media": hit.media} if hit.media else {}),
        **({"vectorScore": round(hit.vector_score, 4)} if hit.vector_score is not None else {}),
        **({"textScore": round(hit.text_score, 4)} if hit.text_score is not None else {}),
        **({"explain": hit.explain} if hit.explain is not None else {}),
    }


def _citation(hit: Hit) -> str:
    if hit.media:
        return hit.path
    first = f"{hit.path}#L{hit.start_line}"
    return first if hit.end_line == hit.start_line else f"{first}-L{hit.end_line}"


def within(max_chars: int, results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The leading results whose snippets, footers included, fit together into `max_chars` code points."""
    kept: list[dict[str, Any]] = []
    used = 0
    for result in results:
        used += len(result["snippet"])
        if used > max_chars:
            break
        kept.append(result)
    return kept


def _empty(memory: Memory, outcome: Outcome) -> dict[str, Any]:
    return {
        "results": [],
        "outcome": outcome,
        "backend": None,
        "provider": None,
        "model": None,
        "mode": None,
        "citations": memory.citations,
        "notices": [],
    }


def _disabled(memory: Memory) -> dict[str, Any]:
    return {
        **_empty(memory, Outcome.DISABLED),
        "disabled": True,
        "error": "memory search is disabled for this agent",
        "action": "set memorySearch.enabled to true",
    }


_ACTIONS = {Failure.TIMEOUT: "Retry; raise timeoutMs if it goes on.", Failure.LOCKED: "Retry in a moment."}


_NO_ENGINE = "Memory search is unavailable: no engine could answer."
_PROVIDER = "Memory search is unavailable due to an embedding/provider error."
_PROVIDER_ACTION = "Check embedding provider configuration and retry memory_search."
_QUOTA = "Memory search is unavailable because embedding provider quota is exhausted."
_QUOTA_ACTION = "Top up or switch embedding provider, then retry memory_search."


def _unavailable(memory: Memory, error: BackendError) -> dict[str, Any]:
    warning, action = _advice(error)
    return {
        **_empty(memory, Outcome.UNAVAILABLE),
        "disabled": True,
        "unavailable": True,
        "error": error.message,
        "reason": error.code,
        "warning": warning,
        "action": action,
    }


def _advice(error: BackendError) -> tuple[str, str]:
    """What an agent is to tell its user, and what can be done."""
    if error.code == QUOTA:
        return _QUOTA, _QUOTA_ACTION
    if error.failure is Failure.EMBEDDING:
        return _PROVIDER, error.hint or _PROVIDER_ACTION
    return _NO_ENGINE, error.hint or _ACTIONS.get(error.failure, "Run `qmd-sidecar status` on the host and retry.")
