"""Decisions: deny beats allow, foreign and malformed keys get nothing, sub-agents follow their parent."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from scope import DEFAULT_POLICY, Policy, Rule, decide, explain
from tests.scope import making, verdicts

DOCUMENTED = verdicts.MISSION


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


@given(making.policies, making.rules, st.integers(0, 4), making.agents, making.keys, making.keys)
def test_adding_a_deny_never_allows_more(
    policy: Policy, rule: Rule, place: int, agent: str, key: str | None, parent: str | None
) -> None:
    """Wherever a deny is added, what was denied stays denied."""
    stricter = Policy(policy.default, (*policy.rules[:place], replace(rule, action="deny"), *policy.rules[place:]))
    asked = {"agent_id": agent, "session_key": key, "parent_session_key": parent}
    assert decide(policy, **asked).allowed or not decide(stricter, **asked).allowed


@given(making.policies, making.agents, making.keys, making.keys)
def test_the_order_of_rules_does_not_matter(policy: Policy, agent: str, key: str | None, parent: str | None) -> None:
    """Deny beats allow wherever they stand."""
    turned = Policy(policy.default, policy.rules[::-1])
    asked = {"agent_id": agent, "session_key": key, "parent_session_key": parent}
    assert decide(policy, **asked).allowed == decide(turned, **asked).allowed


@given(making.policies, making.keys, making.keys)
def test_a_key_of_another_agent_reads_nothing(policy: Policy, tail: str | None, parent: str | None) -> None:
    """Whatever the rules say and whoever the parent is, a key that names agent `ops` is denied on agent `main`."""
    asked = {"agent_id": "main", "session_key": f"agent:ops:{tail}", "parent_session_key": parent}
    assert not decide(policy, **asked).allowed


@given(making.policies, making.keys, making.keys)
def test_a_parent_of_another_agent_opens_nothing(policy: Policy, key: str | None, tail: str | None) -> None:
    """A sub-agent of a foreign session is foreign; to everybody else a parent key gives nothing."""
    decision = decide(policy, agent_id="main", session_key=key, parent_session_key=f"agent:ops:{tail}")
    alone = decide(policy, agent_id="main", session_key=key)
    assert decision.allowed == alone.allowed
    assert not (decision.allowed and decision.kind == "subagent")


@given(making.policies, making.agents, making.keys, making.keys)
def test_a_parent_key_never_gives_more_than_the_parent_has(
    policy: Policy, agent: str, key: str | None, parent: str | None
) -> None:
    """Who is allowed with a parent key is allowed without it, or its parent is."""
    if decide(policy, agent_id=agent, session_key=key, parent_session_key=parent).allowed:
        alone = decide(policy, agent_id=agent, session_key=key)
        assert alone.allowed or decide(policy, agent_id=agent, session_key=parent).allowed


@given(making.policies, making.agents, making.keys, making.keys)
def test_the_reason_of_a_decision_is_among_its_rules(
    policy: Policy, agent: str, key: str | None, parent: str | None
) -> None:
    """What an explanation shows is what decided: the named rule matched, and with the action of the verdict."""
    explanation = explain(policy, agent_id=agent, session_key=key, parent_session_key=parent)
    decision, shown = explanation.decision, explanation
    while decision.rule.startswith("parent: ") and shown.parent is not None:
        decision, shown = shown.parent.decision, shown.parent
    assert decision.allowed == explanation.decision.allowed
    if decision.rule.startswith("rule "):
        number = int(decision.rule.split()[1].rstrip(":"))
        assert shown.rules[number - 1].matched
        assert policy.rules[number - 1].action == ("allow" if decision.allowed else "deny")
    elif decision.rule.startswith("default "):
        assert not any(report.matched for report in shown.rules)
        assert decision.rule == f"default {policy.default}"


@given(making.policies, making.agents, making.keys, making.keys)
def test_explaining_and_deciding_agree(policy: Policy, agent: str, key: str | None, parent: str | None) -> None:
    """The explanation's decision is the decision."""
    asked = {"agent_id": agent, "session_key": key, "parent_session_key": parent}
    assert explain(policy, **asked).decision == decide(policy, **asked)
