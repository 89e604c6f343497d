"""What is counted as it happens. Everything else that is measured is read where it is known."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sidecar.metrics.tally import Histogram

log = logging.getLogger(__name__)

#: From a resident's few milliseconds to the longest time that a gateway waits.
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_LAGS = (0.001, 0.005, 0.025, 0.1, 0.25, 1.0, 5.0)
#: The label of an engine or a mode where none answered.
NONE = "none"


@dataclass(slots=True)
class Counts:
    """The tallies of one daemon. Labels are words of closed lists: never a query, a path or a session key."""

    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    request_seconds: Histogram = field(default_factory=partial(Histogram, _SECONDS))
    search_seconds: Histogram = field(default_factory=partial(Histogram, _SECONDS))
    outcomes: Counter[tuple[str]] = field(default_factory=Counter)
    fallbacks: Counter[tuple[str, str]] = field(default_factory=Counter)
    clipped: int = 0
    loop_lag: Histogram = field(default_factory=partial(Histogram, _LAGS))
    failures: Counter[tuple[str]] = field(default_factory=Counter)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """A request to a route (its template) got the head of its reply after so many seconds."""
        self.requests[route, str(status)] += 1
        self.request_seconds.observe(seconds, route)

    def searched(self, reply: Mapping[str, Any], seconds: float) -> None:
        """A search came to `reply`, which has the fields of a `SearchReply`."""
        self.search_seconds.observe(seconds, str(reply["backend"] or NONE), str(reply["mode"] or NONE))
        self.outcomes[(str(reply["outcome"]),)] += 1
        if fallback := reply.get("fallback"):
            self.fallbacks[str(fallback["from"]), str(fallback["reason"])] += 1
        if any(notice["code"] == "clipped" for notice in reply["notices"]):
            self.clipped += 1

    def unreadable(self, source: str, error: Exception) -> None:
        """A source of metrics failed; it is told once, since a scrape comes every few seconds."""
        self.failures[(source,)] += 1
        if self.failures[(source,)] == 1:
            log.warning("metric unreadable", extra={"fields": {"source": source}}, exc_info=error)
