"""Rules: how an operator's text is normalised, what a rule matches, and what it refuses."""

from __future__ import annotations

import pytest

from scope import Policy, Rule, parse

MATCHES = [
    # rule, key, matches
    (Rule("allow"), "agent:main:discord:channel:1", True),
    (Rule("allow", channel="Discord"), "agent:main:discord:channel:1", True),
    (Rule("allow", channel="discord"), "agent:main:slack:channel:1", False),
    (Rule("allow", channel="discord"), "agent:main:main", False),
    (Rule("allow", channel="telegram"), "agent:main:telegram:acct:direct:1", True),
    (Rule("allow", chat_type="dm"), "agent:main:telegram:direct:1", True),
    (Rule("allow", chat_type="DIRECT"), "telegram:dm:1", True),
    (Rule("allow", chat_type="group"), "agent:main:slack:channel:1", False),
    (Rule("allow", chat_type="direct"), "agent:main:subagent:1", False),
    (Rule("allow", kind="cron"), "agent:main:cron:job:run:1", True),
    (Rule("allow", kind="main"), "agent:main:cron:job", False),
    (Rule("allow", key_prefix=" Discord:Channel: "), "agent:main:discord:channel:1", True),
    (Rule("allow", key_prefix="discord:channel:"), "agent:main:discord:direct:1", False),
    (Rule("allow", key_prefix="agent:main:discord:"), "agent:main:discord:direct:1", True),
    (Rule("allow", key_prefix="agent:ops:"), "agent:main:discord:direct:1", False),
    (Rule("allow", raw_key_prefix="agent:main:discord:"), "Agent:Main:Discord:direct:1", True),
    (Rule("allow", raw_key_prefix="agent:main:discord:"), "discord:direct:1", True),
    (Rule("allow", raw_key_prefix="discord:"), "discord:direct:1", True),
    (Rule("allow", raw_key_prefix="discord:"), "agent:main:discord:direct:1", False),
    (Rule("deny", key_prefix="irc:direct:ΟΔΟΣ"), "irc:direct:ΟΔΟΣ:thread:1", True),
    (Rule("deny", key_prefix="irc:direct:rene\u0301"), "irc:direct:rené", True),
    (Rule("deny", key_prefix="irc：direct："), "irc:direct:1", True),
    (Rule("allow", channel="discord", chat_type="group"), "agent:main:discord:channel:1", False),
    (Rule("allow", channel="discord", chat_type="channel"), "agent:main:discord:channel:1", True),
]


@pytest.mark.parametrize(("rule", "key", "matches"), MATCHES)
def test_a_rule_matches_when_all_its_conditions_hold(rule: Rule, key: str, matches: bool) -> None:
    """Conditions are compared lower-case, and every given one must hold."""
    assert (rule.unmet(parse(key), agent_id="main") == "") is matches


def test_a_rule_reads_as_its_operator_wrote_it() -> None:
    """The text of a rule names its conditions as the configuration spells them."""
    assert str(Rule("deny", key_prefix="discord:channel:")) == "deny keyPrefix discord:channel:"
    assert str(Rule("allow", channel="Slack", chat_type="dm")) == "allow channel slack chatType direct"
    assert str(Rule("deny")) == "deny"


@pytest.mark.parametrize(
    "wrong",
    [{"action": "permit"}, {"chat_type": "room"}, {"kind": "robot"}, {"key_prefix": " "}, {"channel": ""}],
)
def test_a_rule_that_cannot_mean_anything_is_refused(wrong: dict[str, str]) -> None:
    """An unknown word or a blank condition is an error that says what to do."""
    with pytest.raises(ValueError, match=r"use one of|leave it out"):
        Rule(**{"action": "allow", **wrong})  # type: ignore[arg-type]


def test_a_policy_without_a_default_denies() -> None:
    """A missing default closes the door, unlike OpenClaw's QMD scope."""
    assert Policy(rules=(Rule("allow", kind="cron"),)).default == "deny"
