"""The one line that the log has of every request: what was asked, what came of it, and never a word of either."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

#: Asked every few seconds by supervisors; a line for each would drown the log.
UNLOGGED = frozenset({"/livez", "/readyz", "/metrics"})
#: What a turn of an agent waits for. Other routes may wait for work that takes its time.
_IN_A_TURN = frozenset({"memory_search", "memory_get", "memory_flush", "session_start", "triggers"})
SLOW_S = 2.0

_SAID = ("backend", "mode", "outcome")


def tell(log: logging.Logger, route: str, status: int, took_s: float, fields: Mapping[str, Any]) -> None:
    """Log a request that is over, warning of one that was slow. Who asked wrongly is told so; the log only notes it."""
    slow = took_s > SLOW_S and route.rpartition("/")[2] in _IN_A_TURN
    head = {"route": route, "status": status, "ms": round(took_s * 1000, 2), **({"slow": True} if slow else {})}
    log.log(_level(status, slow=slow), "request", extra={"fields": {**head, **fields}})


def facts(reply: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool's reply says of itself: engine, outcome, fallback, and how much left."""
    shown = reply.get("results") or reply.get("entries") or ()
    texts = [str(each.get("snippet") or each.get("text") or "") for each in shown] or [str(reply.get("text") or "")]
    fallback = reply.get("fallback")
    return {
        **{key: reply[key] for key in _SAID if reply.get(key) is not None},
        **({"fallback": fallback["reason"]} if fallback else {}),
        **({"denied": True} if reply.get("denied") else {}),
        "results": len(shown),
        "chars": sum(map(len, texts)),
    }


def question(query: str, *, allowed: bool) -> dict[str, Any]:
    """How long a question is; the question itself where `sidecar.log.queries` allows it."""
    return {"queryChars": len(query), **({"query": query} if allowed else {})}


def _level(status: int, *, slow: bool) -> int:
    if status == 500:
        return logging.ERROR
    return logging.WARNING if status > 500 or slow else logging.INFO
