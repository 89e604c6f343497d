"""The scope cookbook: every recipe does what is written below it."""

from __future__ import annotations

import re

import pytest

from scope import decide, parse
from sidecar.config.json5 import decode
from sidecar.config.schema import Scope
from sidecar.config.validation import build
from tests.running import REPOSITORY

PAGE = (REPOSITORY / "docs" / "scope.md").read_text(encoding="utf-8")
VERDICTS = [
    (recipe, key, allowed)
    for recipe, may, may_not in re.findall(
        r"```json5\n(\{[^`]*)```\n\n- may: (.*?)\n- may not: (.*?)\n\n", PAGE, re.DOTALL
    )
    for keys, allowed in ((may, True), (may_not, False))
    for key in re.findall(r"`([^`]+)`", keys)
]


@pytest.mark.parametrize(("recipe", "key", "allowed"), VERDICTS)
def test_a_recipe_decides_as_it_says(recipe: str, key: str, allowed: bool) -> None:
    """Asked of the agent that the key names."""
    policy = build(Scope, decode(recipe)).policy()
    assert decide(policy, agent_id=parse(key).agent_id or "main", session_key=key).allowed is allowed


def test_every_recipe_says_who_may() -> None:
    """Both ways: a recipe that lets everybody in, or nobody, would be wrong."""
    recipes = re.findall(r"```json5\n(\{.*?)```", PAGE, re.DOTALL)
    assert len(recipes) > 5
    assert {recipe for recipe, _, _ in VERDICTS} == {*recipes}


@pytest.mark.parametrize(
    ("scope", "kind", "channel"),
    [
        ("main", "main", None),
        ("per-peer", "direct", None),
        ("per-channel-peer", "direct", "telegram"),
        ("per-account-channel-peer", "direct", "telegram"),
    ],
)
def test_a_key_of_every_dm_scope_is_a_direct_chat(scope: str, kind: str, channel: str | None) -> None:
    """In the shape that the page shows."""
    (key,) = re.findall(rf"^\| `{scope}`.*?\| `(agent:[^`]+)`", PAGE, re.MULTILINE)
    said = parse(key)
    assert (said.kind, said.channel, said.chat_type) == (kind, channel, "direct")
