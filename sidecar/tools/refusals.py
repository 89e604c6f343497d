"""Replies without a search behind them: denied, disabled, and unavailable with what to tell the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backends.base import BackendError, Failure, Notice
from backends.embedding import QUOTA
from scope import Decision
from sidecar.config import Memory
from sidecar.shapes import bootstrap_json, notice_json
from sidecar.tools.admission import DISABLED, denied_json
from sidecar.tools.outcomes import Outcome

_ACTIONS = {Failure.TIMEOUT: "Retry; raise timeoutMs if it goes on.", Failure.LOCKED: "Retry in a moment."}
#: What turns an agent's memory on again, by the key that turned it off.
_SWITCHES = {
    "memorySearch.enabled": "set memorySearch.enabled to true",
    "plugins.slots.memory": 'set plugins.slots.memory to another name than "none", or leave it out',
}
_NO_ENGINE = "Memory search is unavailable: no engine could answer."
_PROVIDER = "Memory search is unavailable due to an embedding/provider error."
_PROVIDER_ACTION = "Check embedding provider configuration and retry memory_search."
_QUOTA = "Memory search is unavailable because embedding provider quota is exhausted."
_QUOTA_ACTION = "Top up or switch embedding provider, then retry memory_search."


def denied(memory: Memory, decision: Decision) -> dict[str, Any]:
    """The same fields whatever exists."""
    return {**_empty(memory, Outcome.DENIED), "denied": denied_json(decision)}


def disabled(memory: Memory, off_by: str) -> dict[str, Any]:
    """Memory search is switched off for the agent, by the key `off_by`."""
    return {
        **_empty(memory, Outcome.DISABLED),
        "disabled": True,
        "error": DISABLED,
        "action": _SWITCHES[off_by],
    }


def unavailable(
    memory: Memory, error: BackendError, provider: str | None, notices: Sequence[Notice] = ()
) -> dict[str, Any]:
    """No engine could answer. `provider` is what the agent's questions are to be embedded by, if they are."""
    warning, action = _advice(error)
    told = {"warning": warning, "action": action, "error": error.message}
    if error.failure is Failure.EMBEDDING:
        bootstrap = {"embeddingBootstrap": bootstrap_json(provider, error.code, error.message)}
    else:
        bootstrap = {}
    return {
        **_empty(memory, Outcome.UNAVAILABLE),
        "disabled": True,
        "unavailable": True,
        "reason": error.code,
        **told,
        "notices": [notice_json(notice) for notice in notices],
        "debug": {**told, **bootstrap},
    }


def _advice(error: BackendError) -> tuple[str, str]:
    """What an agent is to tell its user, and what can be done."""
    if error.code == QUOTA:
        return _QUOTA, _QUOTA_ACTION
    if error.failure is Failure.EMBEDDING:
        return _PROVIDER, error.hint or _PROVIDER_ACTION
    return _NO_ENGINE, error.hint or _ACTIONS.get(error.failure, "Run `qmd-sidecar status` on the host and retry.")


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
