"""Every policy and key of the table has one answer and one reason."""

from __future__ import annotations

import pytest

from scope import Policy, decide
from tests.scope.verdicts import ALONE, WITH_PARENT


@pytest.mark.parametrize(("policy", "key", "allowed", "rule"), ALONE)
def test_a_policy_decides_a_key(policy: Policy, key: str | None, allowed: bool, rule: str) -> None:
    """The first strongest rule that matches, else the default; and no rule for a key that cannot be read."""
    decision = decide(policy, agent_id="main", session_key=key)
    assert (decision.allowed, decision.rule) == (allowed, rule)


@pytest.mark.parametrize(("policy", "key", "parent", "allowed", "rule"), WITH_PARENT)
def test_a_sub_agent_follows_its_parent(policy: Policy, key: str, parent: str, allowed: bool, rule: str) -> None:
    """A sub-agent takes its parent's decision, never more; a parent key means nothing for anybody else."""
    decision = decide(policy, agent_id="main", session_key=key, parent_session_key=parent)
    assert (decision.allowed, decision.rule) == (allowed, rule)
