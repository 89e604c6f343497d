"""Keys, rules and policies for properties: built from the parts that keys are made of, so that they often meet."""

from __future__ import annotations

from typing import get_args

from hypothesis import strategies as st

from scope import Kind, Policy, Rule

AGENTS = ("main", "ops")

_HEADS = "main global cron hook heartbeat acp cli subagent discord slack openai group".split()
_PARTS = (
    "agent main ops cli subagent direct dm group channel discord slack 1 c9 thread topic heartbeat acct é ：".split()
)

_starts = st.sampled_from(["", "", "agent:main:", "agent:main:", "agent:ops:", "Agent:Main:", "agent:x:"])
_chats = st.tuples(
    st.sampled_from(["discord:", "slack:", "discord:acct:", ""]),
    st.sampled_from(["direct", "dm", "group", "channel"]),
    st.sampled_from([":1", ":c9", ":1:thread:2", ":1:subagent:u", ""]),
).map("".join)
_tails = st.one_of(
    _chats,
    st.sampled_from(_HEADS),
    st.tuples(st.sampled_from(_HEADS), st.lists(st.sampled_from([*_PARTS, "", " "]), max_size=4)).map(
        lambda made: ":".join([made[0], *made[1]])
    ),
    st.lists(st.sampled_from([*_PARTS, "", " "]), max_size=6).map(":".join),
)

#: Mostly keys that can be read, some that cannot, and text that is no key at all.
keys = st.one_of(st.none(), st.text(max_size=20), st.builds(str.__add__, _starts, _tails), _tails)

_PREFIXES = "discord: discord:channel: discord:dm: slack: d cli cli: cron:group: subagent: main".split()
_PREFIXES += "agent:main: agent:ops:disc agent:x: agent:m".split()
_WHOLE_PREFIXES = "agent:main:discord: agent:ops: agent: ag main discord: d agent:main:: agent:x:".split()

_conditions = {
    "channel": st.sampled_from(["discord", "slack", "group", "cron", "my chat"]),
    "chat_type": st.sampled_from(["direct", "dm", "group", "channel"]),
    "key_prefix": st.sampled_from([*_PREFIXES, "dis cord:", ":x", "discord::", "discord:1:subagent"]),
    "raw_key_prefix": st.sampled_from([*_WHOLE_PREFIXES, "y z"]),
    "kind": st.sampled_from(get_args(Kind)),
}
rules = st.fixed_dictionaries({"action": st.sampled_from(["allow", "deny"])}, optional=_conditions).map(
    lambda given: Rule(**given)
)
#: Most rules have one condition: rules with many of them seldom meet a key.
_short = st.one_of(
    *(st.builds(Rule, st.sampled_from(["allow", "deny"]), **{name: value}) for name, value in _conditions.items())
)
policies = st.builds(
    Policy, st.sampled_from(["allow", "deny", "deny"]), st.lists(st.one_of(_short, rules), max_size=4).map(tuple)
)
agents = st.sampled_from(AGENTS)
