"""The states that the page about the architecture draws are those that the program has."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from backends.breaker import EDGES, State
from sidecar.agents import AgentState
from sidecar.gateway.replies.service import DaemonState
from sidecar.tools.flush_ledger import Stage
from tests.running import REPOSITORY

PAGE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """What stands below a heading."""
    (_, text) = PAGE.split(f"\n## {title}\n")
    return text.partition("\n## ")[0]


def drawn(title: str) -> set[str]:
    """The words of the first graph below a heading."""
    return {*re.findall(r"[a-z]+", section(title).split("```")[1])}


@pytest.mark.parametrize(
    ("title", "states"),
    [("The daemon", get_args(DaemonState)), ("An agent", [*AgentState]), ("Breaker", [*State])],
)
def test_every_state_is_drawn_and_explained(title: str, states: list[str]) -> None:
    """And no other is."""
    assert {*re.findall(r"^\| `(\w+)` \|", section(title), re.MULTILINE)} == {*states}
    assert {*states} <= drawn(title)


def test_every_stage_of_a_flush_is_drawn() -> None:
    """Its results stand on the arrows."""
    assert {*Stage} <= drawn("A flush")


def test_the_breaker_has_the_arrows_that_are_drawn() -> None:
    """A new one would have to be drawn."""
    assert {(str(start), str(end)) for start, end in EDGES} == {
        ("closed", "open"),
        ("open", "probing"),
        ("probing", "open"),
        ("probing", "closed"),
    }
