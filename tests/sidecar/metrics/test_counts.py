"""What is counted of searches."""

from __future__ import annotations

from typing import Any

from sidecar.metrics.counts import Counts

HITS = {"outcome": "hits", "backend": "builtin", "mode": "search", "notices": []}
DENIED = {"outcome": "denied", "backend": None, "mode": None, "notices": []}


def counted(*replies: dict[str, Any]) -> Counts:
    """The counts behind searches that came to these replies."""
    counts = Counts()
    for reply in replies:
        counts.searched(reply, 0.01)
    return counts


def test_a_search_is_timed_by_engine_and_mode() -> None:
    """A denial asks no engine, and is timed apart."""
    rows = dict(counted(HITS, HITS, DENIED).search_seconds.rows())
    assert {labels: spread.buckets[-1][1] for labels, spread in rows.items()} == {
        ("builtin", "search"): 2,
        ("none", "none"): 1,
    }


def test_outcomes_fallbacks_and_clipped_replies_are_counted() -> None:
    """Each from the reply itself."""
    fallback = {"from": "qmd", "reason": "timeout", "since": 1.0}
    notice = {"code": "clipped", "message": "", "action": ""}
    counts = counted(HITS, DENIED, {**HITS, "fallback": fallback}, {**HITS, "notices": [notice]})
    assert counts.outcomes == {("hits",): 3, ("denied",): 1}
    assert counts.fallbacks == {("qmd", "timeout"): 1}
    assert counts.clipped == 1
