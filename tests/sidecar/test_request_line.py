"""One line of the log for every request."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from sidecar.gateway.request_line import SLOW_S, facts, question, tell

SEARCH = "/v1/agents/{id}/memory_search"


@pytest.mark.parametrize(
    ("route", "status", "took_s", "level"),
    [
        (SEARCH, 200, 0.01, "INFO"),
        (SEARCH, 400, 0.01, "INFO"),
        (SEARCH, 404, 0.01, "INFO"),
        (SEARCH, 500, 0.01, "ERROR"),
        (SEARCH, 503, 0.01, "WARNING"),
        ("/v1/agents/{id}/memory_get", 504, 0.01, "WARNING"),
        (SEARCH, 200, SLOW_S + 1, "WARNING"),
        ("/v1/agents/{id}/sync", 200, SLOW_S + 1, "INFO"),
    ],
)
def test_the_level_says_whose_fault_it_is(
    route: str, status: int, took_s: float, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A caller's mistake is no alarm, a slow turn is, and a sync may take its time."""
    with caplog.at_level(logging.INFO):
        tell(logging.getLogger("sidecar.gateway.app"), route, status, took_s, {"requestId": "r"})
    (record,) = caplog.records
    assert record.levelname == level
    assert record.__dict__["fields"].get("slow", False) is (took_s > SLOW_S and route == SEARCH)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (
            {
                "results": [{"snippet": "abc"}, {"snippet": "de"}],
                "backend": "builtin",
                "mode": "search",
                "outcome": "hits",
                "fallback": {"from": "qmd", "reason": "timeout", "since": 1},
            },
            {
                "backend": "builtin",
                "mode": "search",
                "outcome": "hits",
                "fallback": "timeout",
                "results": 2,
                "chars": 5,
            },
        ),
        (
            {"results": [], "outcome": "denied", "backend": None, "denied": {"rule": "default"}},
            {"outcome": "denied", "denied": True, "results": 0, "chars": 0},
        ),
        ({"path": "MEMORY.md", "text": "four"}, {"results": 0, "chars": 4}),
        ({"entries": [{"text": "abc"}]}, {"results": 1, "chars": 3}),
    ],
)
def test_a_reply_is_told_by_its_size_and_never_by_its_words(reply: dict[str, Any], told: dict[str, Any]) -> None:
    """Of a search, a reading and triggers alike."""
    assert facts(reply) == told


def test_a_question_is_logged_only_where_that_is_allowed() -> None:
    """Its length says enough."""
    assert question("where is the boat", allowed=False) == {"queryChars": 17}
    assert question("where is the boat", allowed=True) == {"queryChars": 17, "query": "where is the boat"}
