"""Decisions: deny beats allow, foreign and malformed keys get nothing, sub-agents follow their parent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scope import DEFAULT_POLICY, Policy, Rule, decide, explain

OPEN = Policy(default="allow")
CLOSED = Policy(default="deny")
ALLOW_DIRECT = Rule("allow", chat_type="direct")
# The example of OpenClaw's documentation, where the first match let every Discord message in.
DOCUMENTED = Policy(
    "deny",
    (ALLOW_DIRECT, Rule("deny", key_prefix="discord:channel:"), Rule("deny", raw_key_prefix="agent:main:discord:")),
)

DECIDED = [
    # policy, key, allowed, rule
    (DEFAULT_POLICY, "agent:main:main", True, "rule 1: allow chatType direct"),
    (DEFAULT_POLICY, "main", True, "rule 1: allow chatType direct"),
    (DEFAULT_POLICY, "agent:main:telegram:direct:1", True, "rule 1: allow chatType direct"),
    (DEFAULT_POLICY, "agent:main:telegram:acct:direct:1", True, "rule 1: allow chatType direct"),
    (DEFAULT_POLICY, "AGENT:MAIN:MAIN", True, "rule 1: allow chatType direct"),
    (DEFAULT_POLICY, "agent:main:cron:job", True, "rule 1: allow chatType direct"),
    (DEFAULT_POLICY, "agent:main:telegram:group:-100", False, "default deny"),
    (DEFAULT_POLICY, "agent:main:telegram:group:-100:topic:7", False, "default deny"),
    (DEFAULT_POLICY, "agent:main:slack:channel:c1:thread:2", False, "default deny"),
    (DEFAULT_POLICY, "agent:main:discord:acct:channel:9", False, "default deny"),
    (DEFAULT_POLICY, "group:x", False, "default deny"),
    (DEFAULT_POLICY, "agent:main:discord:slash:9", False, "default deny"),
    (DEFAULT_POLICY, "agent:main:direct:group:x", False, "key ambiguous: two chat types"),
    (DEFAULT_POLICY, "agent:ops:main", False, "key of another agent"),
    (DEFAULT_POLICY, "agent:ops:cli:direct:x", False, "key of another agent"),
    (DEFAULT_POLICY, "agent:mаin:main", False, "key of another agent"),
    (DEFAULT_POLICY, "agent:main:agent:main:main", False, "key doubled"),
    (DEFAULT_POLICY, None, False, "key missing"),
    (DEFAULT_POLICY, "  ", False, "key missing"),
    (DEFAULT_POLICY, "agent:main:cli:direct:memory-search", True, "operator at the command line"),
    (DEFAULT_POLICY, "agent:main:subagent:1", False, "sub-agent without a parent key"),
    (OPEN, "agent:main:discord:channel:1", True, "default allow"),
    (OPEN, "agent:main:openai:1", True, "default allow"),
    (OPEN, None, False, "key missing"),
    (OPEN, "agent:ops:main", False, "key of another agent"),
    (OPEN, "agent:main:subagent:1", False, "sub-agent without a parent key"),
    (OPEN, "agent:main:discord:сhannel:1", False, "key malformed: look-alike characters"),
    (CLOSED, "agent:main:main", False, "default deny"),
    (CLOSED, "agent:main:cli:x", True, "operator at the command line"),
    (OPEN, "cli:x", False, "command line without an agent"),
    (DOCUMENTED, "agent:main:telegram:direct:1", True, "rule 1: allow chatType direct"),
    (DOCUMENTED, "agent:main:discord:channel:1", False, "rule 2: deny keyPrefix discord:channel:"),
    (DOCUMENTED, "agent:main:discord:direct:1", False, "rule 3: deny rawKeyPrefix agent:main:discord:"),
    (DOCUMENTED, "discord:direct:1", False, "rule 3: deny rawKeyPrefix agent:main:discord:"),
    (DOCUMENTED, "agent:main:slack:channel:1", False, "default deny"),
    (Policy("deny", (Rule("allow", kind="unknown"),)), "agent:main:openai:1", True, "rule 1: allow kind unknown"),
    (Policy("allow", (Rule("deny", kind="unknown"),)), "agent:main:openai:1", False, "rule 1: deny kind unknown"),
    (Policy("allow", (Rule("deny"), Rule("allow"))), "agent:main:main", False, "rule 1: deny"),
    (Policy("allow", (Rule("allow"), Rule("deny"))), "agent:main:main", False, "rule 2: deny"),
]

PARENTS = [
    # policy, sub-agent's key, parent, allowed, rule
    (
        DEFAULT_POLICY,
        "agent:main:subagent:1",
        "agent:main:telegram:direct:1",
        True,
        "parent: rule 1: allow chatType direct",
    ),
    (DEFAULT_POLICY, "agent:main:subagent:1", "agent:main:slack:channel:1", False, "parent: default deny"),
    (DEFAULT_POLICY, "agent:main:subagent:1", "agent:ops:main", False, "parent: key of another agent"),
    (DEFAULT_POLICY, "agent:main:subagent:1", "agent:main:subagent:0", False, "parent: sub-agent without a parent key"),
    (DEFAULT_POLICY, "agent:main:subagent:1", "", False, "parent: key missing"),
    (DEFAULT_POLICY, "agent:main:subagent:1", "agent:main:cli:x", True, "parent: operator at the command line"),
    (
        Policy("allow", (Rule("deny", kind="subagent"),)),
        "agent:main:subagent:1",
        "main",
        False,
        "rule 1: deny kind subagent",
    ),
    (CLOSED, "agent:main:main", "agent:main:cli:x", False, "default deny"),
]


@pytest.mark.parametrize(("policy", "key", "allowed", "rule"), DECIDED)
def test_a_policy_decides_a_key(policy: Policy, key: str | None, allowed: bool, rule: str) -> None:
    """Each policy and key has one answer and one reason."""
    decision = decide(policy, agent_id="main", session_key=key)
    assert (decision.allowed, decision.rule) == (allowed, rule)


@pytest.mark.parametrize(("policy", "key", "parent", "allowed", "rule"), PARENTS)
def test_a_sub_agent_follows_its_parent(policy: Policy, key: str, parent: str, allowed: bool, rule: str) -> None:
    """A sub-agent takes its parent's decision, never more; a parent key means nothing for anybody else."""
    decision = decide(policy, agent_id="main", session_key=key, parent_session_key=parent)
    assert (decision.allowed, decision.rule) == (allowed, rule)


def test_a_sub_agent_has_the_chat_of_its_parent() -> None:
    """Citations look at the chat type, so the sub-agent's decision carries that of its parent."""
    decision = decide(DEFAULT_POLICY, agent_id="main", session_key="subagent:1", parent_session_key="telegram:dm:1")
    assert (decision.kind, decision.channel, decision.chat_type) == ("subagent", "telegram", "direct")


def test_an_agent_is_recognised_in_any_case() -> None:
    """Agent ids are compared as the gateway compares them, lower-case."""
    assert decide(DEFAULT_POLICY, agent_id="Ops", session_key="agent:oPS:main").allowed


def test_an_explanation_names_every_rule() -> None:
    """Each rule is reported with its number and the condition that failed."""
    explanation = explain(DOCUMENTED, agent_id="main", session_key="agent:main:discord:direct:1")
    assert [(report.number, report.matched) for report in explanation.rules] == [(1, True), (2, False), (3, True)]
    assert explanation.rules[1].why == "the key does not start with discord:channel:"
    assert explanation.rules[1].rule == "deny keyPrefix discord:channel:"


def test_an_explanation_shows_the_parent() -> None:
    """The parent's own rules are there to read when it decided."""
    explanation = explain(DEFAULT_POLICY, agent_id="main", session_key="subagent:1", parent_session_key="main")
    assert explanation.parent is not None
    assert explanation.parent.rules[0].matched


def test_no_rule_matches_a_key_that_is_not_valid() -> None:
    """A rule without conditions matches every key, but not one that cannot be read."""
    explanation = explain(Policy("allow", (Rule("allow"),)), agent_id="main", session_key="agent:main:")
    assert not explanation.rules[0].matched
    assert "empty part" in explanation.rules[0].why


PARTS = ["agent", "main", "ops", "cli", "subagent", "cron", "direct", "dm", "group", "channel", "discord", "x", "1", ""]
KEYS = st.one_of(st.none(), st.text(max_size=20), st.lists(st.sampled_from(PARTS), max_size=7).map(":".join))
CONDITIONS = {
    "channel": st.sampled_from(["discord", "x"]),
    "chat_type": st.sampled_from(["direct", "dm", "group", "channel"]),
    "key_prefix": st.sampled_from(["discord:", "agent:main:", "cli", "subagent:"]),
    "raw_key_prefix": st.sampled_from(["agent:main:discord:", "agent:ops:", "main"]),
    "kind": st.sampled_from(["main", "cron", "subagent", "cli", "unknown", "group"]),
}
RULES = st.fixed_dictionaries({"action": st.sampled_from(["allow", "deny"])}, optional=CONDITIONS).map(
    lambda given_: Rule(**given_)
)
POLICIES = st.builds(Policy, st.sampled_from(["allow", "deny"]), st.lists(RULES, max_size=4).map(tuple))


@given(POLICIES, RULES, st.integers(0, 4), KEYS, KEYS)
def test_adding_a_deny_never_allows_more(
    policy: Policy, rule: Rule, place: int, key: str | None, parent: str | None
) -> None:
    """Wherever a deny is added, what was denied stays denied."""
    deny = Rule("deny", rule.channel, rule.chat_type, rule.key_prefix, rule.raw_key_prefix, rule.kind)
    stricter = Policy(policy.default, (*policy.rules[:place], deny, *policy.rules[place:]))
    before = decide(policy, agent_id="main", session_key=key, parent_session_key=parent)
    after = decide(stricter, agent_id="main", session_key=key, parent_session_key=parent)
    assert before.allowed or not after.allowed


@given(POLICIES, KEYS, KEYS)
def test_the_order_of_rules_does_not_matter(policy: Policy, key: str | None, parent: str | None) -> None:
    """Deny beats allow wherever they stand."""
    turned = Policy(policy.default, policy.rules[::-1])
    first = decide(policy, agent_id="main", session_key=key, parent_session_key=parent)
    second = decide(turned, agent_id="main", session_key=key, parent_session_key=parent)
    assert first.allowed == second.allowed


@given(POLICIES, KEYS, KEYS)
def test_a_key_of_another_agent_reads_nothing(policy: Policy, tail: str | None, parent: str | None) -> None:
    """Whatever the rules say, a key that names agent `ops` is denied on agent `main`."""
    key = f"agent:ops:{tail}"
    assert not decide(policy, agent_id="main", session_key=key, parent_session_key=parent).allowed


@given(POLICIES, KEYS, KEYS)
def test_explaining_and_deciding_agree(policy: Policy, key: str | None, parent: str | None) -> None:
    """The explanation's decision is the decision."""
    asked = {"agent_id": "main", "session_key": key, "parent_session_key": parent}
    assert explain(policy, **asked).decision == decide(policy, **asked)
