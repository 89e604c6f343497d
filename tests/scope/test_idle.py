"""Rules that decide nothing: told where it is certain, and never where it is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scope import ChatType, Policy, Rule, decide, idle_rules, parse
from scope.session_key import CHAT_TYPE_OF
from tests.scope import making

DIRECT = Rule("allow", chat_type="direct")

IDLE = [
    # policy, number of the idle rule, why
    (Policy("deny", (Rule("allow", channel="slack"), Rule("deny"))), 1, "rule 2 denies all that it allows"),
    (Policy("deny", (DIRECT, Rule("deny", chat_type="dm"))), 1, "rule 2 denies all that it allows"),
    (Policy("deny", (Rule("allow", kind="cron"), Rule("deny", chat_type="direct"))), 1, "rule 2 denies"),
    (
        Policy("allow", (Rule("deny", channel="slack"), Rule("deny", channel="slack", kind="group"))),
        2,
        "rule 1 says so",
    ),
    (
        Policy("allow", (Rule("deny", channel="slack", kind="group"), Rule("deny", channel="slack"))),
        1,
        "rule 2 says so",
    ),
    (Policy("deny", (DIRECT, DIRECT)), 2, "rule 1 says so"),
    (Policy("deny", (DIRECT, Rule("allow", kind="main"))), 2, "rule 1 says so"),
    (Policy("deny", (Rule("allow", kind="group"), Rule("allow", chat_type="group"))), 2, "rule 1 says so"),
    (
        Policy("allow", (Rule("deny", key_prefix="discord:"), Rule("deny", key_prefix="discord:channel:9"))),
        2,
        "rule 1 says so",
    ),
    (
        Policy("allow", (Rule("deny", raw_key_prefix="agent:ops:"), Rule("deny", key_prefix="agent:ops:x:"))),
        2,
        "rule 1 says so",
    ),
    (Policy("allow", (DIRECT,)), 1, "the default allows already"),
    (Policy("deny", (Rule("allow", kind="subagent"),)), 1, "a sub-agent is allowed what its parent is"),
    (Policy("allow", (Rule("deny", kind="cli"),)), 1, "let in before any rule"),
    (Policy("allow", (Rule("deny", kind="group", chat_type="channel"),)), 1, "never has chatType channel"),
    (Policy("allow", (Rule("deny", kind="subagent", chat_type="direct"),)), 1, "never has chatType direct"),
    (Policy("deny", (Rule("allow", kind="unknown", chat_type="group"),)), 1, "never has chatType group"),
    (Policy("deny", (Rule("allow", kind="cron", channel="slack"),)), 1, "has no channel"),
    (Policy("deny", (Rule("allow", channel="group"),)), 1, "no chat program has such a name"),
    (Policy("deny", (Rule("allow", channel="my slack"),)), 1, "no chat program has such a name"),
    (Policy("allow", (Rule("deny", key_prefix="my slack:"),)), 1, "no key starts with"),
    (Policy("allow", (Rule("deny", key_prefix="slack::"),)), 1, "no key starts with"),
    (Policy("allow", (Rule("deny", key_prefix=":slack"),)), 1, "no key starts with"),
    (Policy("allow", (Rule("deny", key_prefix="sl\u200back"),)), 1, "no key starts with"),
    (Policy("allow", (Rule("deny", channel="slack", key_prefix="discord:"),)), 1, "no key of this channel"),
    (Policy("allow", (Rule("deny", chat_type="dm", key_prefix="slack:channel:"),)), 1, "names another chat type"),
    (Policy("allow", (Rule("deny", key_prefix="agent:stranger:"),)), 1, "no key of a configured agent"),
    (Policy("allow", (Rule("deny", raw_key_prefix="agent:stranger:"),)), 1, "no key of a configured agent"),
    (Policy("allow", (Rule("deny", raw_key_prefix="agent:main::x"),)), 1, "no key of a configured agent"),
    (Policy("allow", (Rule("deny", raw_key_prefix="a b"),)), 1, "no key of a configured agent"),
]

BUSY = [
    Policy("deny", (DIRECT,)),
    Policy("deny", (DIRECT, Rule("deny", channel="discord"))),
    Policy("deny", (DIRECT, Rule("allow", kind="group"), Rule("allow", channel="slack"))),
    Policy("allow", (Rule("deny", kind="subagent"), Rule("deny", chat_type="direct"))),
    Policy("allow", (Rule("deny", key_prefix="Agent:MAIN:Slack:"),)),
    Policy("allow", (Rule("deny", raw_key_prefix="agent:ops"), Rule("deny", raw_key_prefix="discord:"))),
    Policy("allow", (Rule("deny", key_prefix="discord:channel:"), Rule("deny", raw_key_prefix="discord:channel:"))),
    Policy("deny", (Rule("allow", channel="slack", key_prefix="sla"),)),
    Policy("deny", (Rule("allow", chat_type="direct", key_prefix="slack:dm:"),)),
    Policy("deny", (Rule("allow", chat_type="direct", key_prefix="cron:group"),)),
]


@pytest.mark.parametrize(("policy", "number", "why"), IDLE)
def test_a_rule_that_decides_nothing_is_told_with_its_reason(policy: Policy, number: int, why: str) -> None:
    """Exactly that rule, in words, with what to do about it."""
    (idle,) = idle_rules(policy, making.AGENTS)
    assert idle.number == number
    assert why in idle.why
    assert idle.hint


@pytest.mark.parametrize("policy", BUSY, ids=lambda policy: " / ".join(map(str, policy.rules)))
def test_a_rule_that_decides_something_is_left_in_peace(policy: Policy) -> None:
    """Each of these denies or allows a key that nothing else does."""
    assert idle_rules(policy, making.AGENTS) == ()


@given(making.policies, making.agents, making.keys, making.keys)
def test_without_its_idle_rules_a_policy_decides_the_same(
    policy: Policy, agent: str, key: str | None, parent: str | None
) -> None:
    """For every key, with and without a parent: all of them can go at once."""
    idle = {rule.number for rule in idle_rules(policy, making.AGENTS)}
    kept = tuple(rule for number, rule in enumerate(policy.rules, start=1) if number not in idle)
    asked = {"agent_id": agent, "session_key": key, "parent_session_key": parent}
    assert decide(policy, **asked).allowed == decide(Policy(policy.default, kept), **asked).allowed


@given(making.policies, st.data(), making.agents, making.keys, making.keys)
def test_any_one_idle_rule_can_go(
    policy: Policy, data: st.DataObject, agent: str, key: str | None, parent: str | None
) -> None:
    """An operator may follow the remarks one at a time."""
    idle = idle_rules(policy, making.AGENTS)
    if not idle:
        return
    place = data.draw(st.sampled_from(idle)).number - 1
    kept = Policy(policy.default, policy.rules[:place] + policy.rules[place + 1 :])
    asked = {"agent_id": agent, "session_key": key, "parent_session_key": parent}
    assert decide(policy, **asked).allowed == decide(kept, **asked).allowed


@given(making.keys)
def test_the_kind_of_a_session_says_its_chat_type(key: str | None) -> None:
    """What the remarks rest on; and a session has a channel only where it is a chat."""
    parsed = parse(key)
    if parsed.valid:
        assert parsed.chat_type == CHAT_TYPE_OF[parsed.kind]
        assert parsed.channel is None or parsed.kind in ChatType.__args__
