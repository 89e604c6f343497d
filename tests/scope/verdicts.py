"""Policies, and what each of them says to every shape of key: agent `main` is asked."""

from __future__ import annotations

from scope import DEFAULT_POLICY, Policy, Rule

DIRECT = Rule("allow", chat_type="direct")
OPEN = Policy("allow")
CLOSED = Policy("deny")
#: The example of the documentation that users copy. A first match would let every Discord message in.
MISSION = Policy(
    "deny",
    (DIRECT, Rule("deny", key_prefix="discord:channel:"), Rule("deny", raw_key_prefix="agent:main:discord:")),
)
ONE_GROUP = Policy("deny", (DIRECT, Rule("allow", key_prefix="telegram:group:-100")))
NO_SLACK = Policy("allow", (Rule("deny", channel="slack"),))
NO_ROOMS = Policy("allow", (Rule("deny", chat_type="group"), Rule("deny", chat_type="channel")))
BY_KIND = Policy("deny", (Rule("allow", kind="main"), Rule("allow", kind="cron"), Rule("deny", kind="subagent")))
BY_AGENT = Policy("allow", (Rule("deny", raw_key_prefix="agent:ops:"), Rule("deny", key_prefix="agent:main:slack:")))
ODD_SHAPES = Policy("deny", (Rule("allow", kind="unknown"), Rule("deny", key_prefix="openai:")))
DENY_WINS = Policy("allow", (Rule("allow", channel="slack", chat_type="direct"), Rule("deny", channel="Slack")))

_DIRECT = "rule 1: allow chatType direct"
_FOREIGN = "key of another agent"
_DISGUISED = "key malformed: look-alike characters"
_HIDDEN = "key malformed: blank or invisible characters"
_EMPTY = "key malformed: an empty part"
_TWO_TYPES = "key ambiguous: two chat types"
_ROOM_INSIDE = "key ambiguous: a group or channel inside a session of the owner"
_NO_PARENT = "sub-agent without a parent key"
_OPERATOR = "operator at the command line"

_Row = tuple[Policy, str | None, bool, str]

ALONE: list[_Row] = [
    # policy, key, allowed, why
    (DEFAULT_POLICY, "agent:main:main", True, _DIRECT),
    (DEFAULT_POLICY, "main", True, _DIRECT),
    (DEFAULT_POLICY, "global", True, _DIRECT),
    (DEFAULT_POLICY, "agent:main:global", True, _DIRECT),
    (DEFAULT_POLICY, "AGENT:MAIN:MAIN", True, _DIRECT),
    (DEFAULT_POLICY, " agent:main:main\n", True, _DIRECT),
    (DEFAULT_POLICY, "agent:main:main:thread:1700", True, _DIRECT),
    (DEFAULT_POLICY, "agent:main:main:topic:7", True, _DIRECT),
    (DEFAULT_POLICY, "agent:main:main:heartbeat", True, _DIRECT),
    (DEFAULT_POLICY, "agent:main:heartbeat", True, _DIRECT),
    (DEFAULT_POLICY, "agent:main:cron:job", True, _DIRECT),
    (DEFAULT_POLICY, "agent:main:cron:job:run:9", True, _DIRECT),
    (DEFAULT_POLICY, "cron:job", True, _DIRECT),
    (DEFAULT_POLICY, "agent:main:hook:gmail:1", True, _DIRECT),
    (DEFAULT_POLICY, "hook:gmail:1", True, _DIRECT),
    (DEFAULT_POLICY, "agent:main:acp:0f", True, _DIRECT),
    (DEFAULT_POLICY, "agent:main:telegram:direct:1", True, _DIRECT),
    (DEFAULT_POLICY, "telegram:dm:1", True, _DIRECT),
    (DEFAULT_POLICY, "agent:main:direct:1", True, _DIRECT),
    (DEFAULT_POLICY, "agent:main:telegram:acct:direct:1", True, _DIRECT),
    (DEFAULT_POLICY, "agent:main:telegram:direct:1:thread:2", True, _DIRECT),
    (DEFAULT_POLICY, "agent:main:irc:direct:日本", True, _DIRECT),
    (DEFAULT_POLICY, "agent:main:telegram:group:-100", False, "default deny"),
    (DEFAULT_POLICY, "agent:main:telegram:group:-100:topic:7", False, "default deny"),
    (DEFAULT_POLICY, "agent:main:telegram:acct:group:-100", False, "default deny"),
    (DEFAULT_POLICY, "agent:main:slack:channel:c1", False, "default deny"),
    (DEFAULT_POLICY, "agent:main:slack:channel:c1:thread:2", False, "default deny"),
    (DEFAULT_POLICY, "agent:main:discord:acct:channel:9", False, "default deny"),
    (DEFAULT_POLICY, "discord:channel:9", False, "default deny"),
    (DEFAULT_POLICY, "group:x", False, "default deny"),
    (DEFAULT_POLICY, "channel:x", False, "default deny"),
    (DEFAULT_POLICY, "agent:main:discord:slash:9", False, "default deny"),
    (DEFAULT_POLICY, "agent:main:openai:1", False, "default deny"),
    (DEFAULT_POLICY, "unknown", False, "default deny"),
    (DEFAULT_POLICY, "null", False, "default deny"),
    (DEFAULT_POLICY, "{'key':'main'}", False, "default deny"),
    (DEFAULT_POLICY, None, False, "key missing"),
    (DEFAULT_POLICY, "", False, "key missing"),
    (DEFAULT_POLICY, "  ", False, "key missing"),
    (DEFAULT_POLICY, "agent", False, "key malformed: nothing after the agent"),
    (DEFAULT_POLICY, "agent:main", False, "key malformed: nothing after the agent"),
    (DEFAULT_POLICY, "agent:main:", False, _EMPTY),
    (DEFAULT_POLICY, "agent::main", False, _EMPTY),
    (DEFAULT_POLICY, ":::", False, _EMPTY),
    (DEFAULT_POLICY, "agent:main:telegram::direct:1", False, _EMPTY),
    (DEFAULT_POLICY, "agent:main:telegram:direct", False, "key malformed: a chat type without a peer"),
    (DEFAULT_POLICY, "agent:main:a:b:c:direct:1", False, "key ambiguous: the chat type stands too deep"),
    (DEFAULT_POLICY, "agent:main:direct:group:x", False, _TWO_TYPES),
    (DEFAULT_POLICY, "agent:main:discord:dm:1:channel:2", False, _TWO_TYPES),
    (DEFAULT_POLICY, "agent:main:hook:discord:channel:9", False, _ROOM_INSIDE),
    (DEFAULT_POLICY, "agent:main:cron:telegram:group:1", False, _ROOM_INSIDE),
    (DEFAULT_POLICY, "agent:main:acp:channel:1", False, _ROOM_INSIDE),
    (DEFAULT_POLICY, "agent:main:main:thread:1:channel:9", False, _ROOM_INSIDE),
    (DEFAULT_POLICY, "agent:main:main:discord", False, "key malformed: a main session with an unknown part"),
    (DEFAULT_POLICY, "agent:main:main:thread", False, "key malformed: a main session with an unknown part"),
    (DEFAULT_POLICY, "agent:main:agent:main:main", False, "key doubled"),
    (DEFAULT_POLICY, "agent:main:main:agent:main:main", False, "key doubled"),
    (DEFAULT_POLICY, "agent:ops:main", False, _FOREIGN),
    (DEFAULT_POLICY, "agent:ops:cli:direct:x", False, _FOREIGN),
    (DEFAULT_POLICY, "agent:ops:agent:main:main", False, "key doubled"),
    (DEFAULT_POLICY, "agent:main2:main", False, _FOREIGN),
    (DEFAULT_POLICY, "agent:mаin:main", False, _FOREIGN),
    (DEFAULT_POLICY, "agent:*:main", False, _FOREIGN),
    (DEFAULT_POLICY, "agent:main:mаin", False, _DISGUISED),
    (DEFAULT_POLICY, "аgent:main:main", False, _DISGUISED),
    (DEFAULT_POLICY, "agent:main:telegram：direct：1", False, _DISGUISED),
    (DEFAULT_POLICY, "agent:main:telegram:ｄirect:1", False, _DISGUISED),
    (DEFAULT_POLICY, "agent:main:tеlegram:direct:1", False, "key malformed: not a channel name"),
    (DEFAULT_POLICY, "agent:main:main\x00", False, _HIDDEN),
    (DEFAULT_POLICY, "agent:main:ma\u200bin", False, _HIDDEN),
    (DEFAULT_POLICY, "agent:main:irc:direct:\ufe0f1", False, _HIDDEN),
    (DEFAULT_POLICY, "agent:main:irc:direct:\u3164", False, _HIDDEN),
    (DEFAULT_POLICY, "agent:main:\ud800", False, _HIDDEN),
    (DEFAULT_POLICY, "agent:main:cron:a b", False, _HIDDEN),
    (DEFAULT_POLICY, "agent:main:cron:" + "x" * 10_240, False, "key malformed: longer than 1024 characters"),
    (DEFAULT_POLICY, "agent:main:cli:direct:memory-search", True, _OPERATOR),
    (DEFAULT_POLICY, "agent:main:cli:x", True, _OPERATOR),
    (DEFAULT_POLICY, "agent:main:cli", True, _OPERATOR),
    (DEFAULT_POLICY, "cli:x", False, "command line without an agent"),
    (DEFAULT_POLICY, "agent:main:cli:channel:9", False, _ROOM_INSIDE),
    (DEFAULT_POLICY, "agent:main:subagent:1", False, _NO_PARENT),
    (DEFAULT_POLICY, "subagent:1", False, _NO_PARENT),
    (DEFAULT_POLICY, "agent:main:subagent:1:subagent:2", False, _NO_PARENT),
    (DEFAULT_POLICY, "agent:main:telegram:direct:1:subagent:2", False, _NO_PARENT),
    (DEFAULT_POLICY, "agent:main:cron:job:subagent:2", False, _NO_PARENT),
    (DEFAULT_POLICY, "agent:main:cli:subagent:2", False, _NO_PARENT),
    (MISSION, "agent:main:telegram:direct:1", True, _DIRECT),
    (MISSION, "agent:main:main", True, _DIRECT),
    (MISSION, "agent:main:discord:channel:9", False, "rule 2: deny keyPrefix discord:channel:"),
    (MISSION, "discord:channel:9", False, "rule 2: deny keyPrefix discord:channel:"),
    (MISSION, "agent:main:discord:direct:1", False, "rule 3: deny rawKeyPrefix agent:main:discord:"),
    (MISSION, "discord:direct:1", False, "rule 3: deny rawKeyPrefix agent:main:discord:"),
    (MISSION, "Agent:Main:Discord:Direct:1", False, "rule 3: deny rawKeyPrefix agent:main:discord:"),
    (MISSION, "agent:main:slack:channel:1", False, "default deny"),
    (OPEN, "agent:main:discord:channel:1", True, "default allow"),
    (OPEN, "agent:main:openai:1", True, "default allow"),
    (OPEN, "agent:main:main", True, "default allow"),
    (OPEN, None, False, "key missing"),
    (OPEN, "agent:ops:main", False, _FOREIGN),
    (OPEN, "agent:main:direct:group:x", False, _TWO_TYPES),
    (OPEN, "agent:main:discord:сhannel:1", False, _DISGUISED),
    (OPEN, "agent:main:subagent:1", False, _NO_PARENT),
    (OPEN, "cli:x", False, "command line without an agent"),
    (CLOSED, "agent:main:main", False, "default deny"),
    (CLOSED, "agent:main:telegram:direct:1", False, "default deny"),
    (CLOSED, "agent:main:cli:x", True, _OPERATOR),
    (ONE_GROUP, "agent:main:telegram:group:-100", True, "rule 2: allow keyPrefix telegram:group:-100"),
    (ONE_GROUP, "agent:main:telegram:group:-100:topic:7", True, "rule 2: allow keyPrefix telegram:group:-100"),
    (ONE_GROUP, "agent:main:telegram:group:-200", False, "default deny"),
    (ONE_GROUP, "agent:main:telegram:acct:group:-100", False, "default deny"),
    (ONE_GROUP, "agent:main:telegram:direct:-100", True, _DIRECT),
    (NO_SLACK, "agent:main:slack:channel:1", False, "rule 1: deny channel slack"),
    (NO_SLACK, "agent:main:slack:acct:direct:1", False, "rule 1: deny channel slack"),
    (NO_SLACK, "agent:main:discord:channel:1", True, "default allow"),
    (NO_SLACK, "agent:main:hook:slack:1", True, "default allow"),
    (NO_ROOMS, "agent:main:slack:channel:1", False, "rule 2: deny chatType channel"),
    (NO_ROOMS, "group:x", False, "rule 1: deny chatType group"),
    (NO_ROOMS, "agent:main:openai:1", True, "default allow"),
    (BY_KIND, "agent:main:main", True, "rule 1: allow kind main"),
    (BY_KIND, "agent:main:cron:job", True, "rule 2: allow kind cron"),
    (BY_KIND, "agent:main:telegram:direct:1", False, "default deny"),
    (BY_KIND, "agent:main:main:heartbeat", False, "default deny"),
    (BY_KIND, "agent:main:subagent:1", False, "rule 3: deny kind subagent"),
    (BY_AGENT, "agent:main:slack:direct:1", False, "rule 2: deny keyPrefix agent:main:slack:"),
    (BY_AGENT, "slack:direct:1", False, "rule 2: deny keyPrefix agent:main:slack:"),
    (BY_AGENT, "agent:main:discord:direct:1", True, "default allow"),
    (ODD_SHAPES, "agent:main:discord:slash:9", True, "rule 1: allow kind unknown"),
    (ODD_SHAPES, "agent:main:openai:1", False, "rule 2: deny keyPrefix openai:"),
    (ODD_SHAPES, "agent:main:main", False, "default deny"),
    (DENY_WINS, "agent:main:slack:direct:1", False, "rule 2: deny channel slack"),
    (Policy("allow", (Rule("allow"), Rule("deny"))), "agent:main:main", False, "rule 2: deny"),
    (Policy("allow", (Rule("deny"),)), "agent:main:cli:x", True, _OPERATOR),
]

_CHILD = "agent:main:subagent:1"

WITH_PARENT: list[tuple[Policy, str, str, bool, str]] = [
    # policy, key, key of the parent, allowed, why
    (DEFAULT_POLICY, _CHILD, "agent:main:telegram:direct:1", True, f"parent: {_DIRECT}"),
    (DEFAULT_POLICY, _CHILD, "main", True, f"parent: {_DIRECT}"),
    (DEFAULT_POLICY, "agent:main:subagent:1:subagent:2", "agent:main:main", True, f"parent: {_DIRECT}"),
    (DEFAULT_POLICY, "agent:main:cron:job:subagent:2", "agent:main:cron:job", True, f"parent: {_DIRECT}"),
    (DEFAULT_POLICY, _CHILD, "agent:main:cli:x", True, f"parent: {_OPERATOR}"),
    (DEFAULT_POLICY, _CHILD, "cli:x", False, "parent: command line without an agent"),
    (DEFAULT_POLICY, _CHILD, "agent:main:slack:channel:1", False, "parent: default deny"),
    (DEFAULT_POLICY, _CHILD, "agent:ops:main", False, f"parent: {_FOREIGN}"),
    (DEFAULT_POLICY, _CHILD, "agent:main:subagent:0", False, f"parent: {_NO_PARENT}"),
    (DEFAULT_POLICY, _CHILD, "", False, "parent: key missing"),
    (DEFAULT_POLICY, _CHILD, "agent:main:agent:main:main", False, "parent: key doubled"),
    (DEFAULT_POLICY, "agent:ops:subagent:1", "agent:main:main", False, _FOREIGN),
    (DEFAULT_POLICY, "agent:main:slack:channel:1", "agent:main:main", False, "default deny"),
    (DEFAULT_POLICY, "", "agent:main:main", False, "key missing"),
    (MISSION, _CHILD, "agent:main:discord:direct:1", False, "parent: rule 3: deny rawKeyPrefix agent:main:discord:"),
    (MISSION, "agent:main:discord:x:subagent:1", "main", False, "rule 3: deny rawKeyPrefix agent:main:discord:"),
    (OPEN, _CHILD, "agent:main:slack:channel:1", True, "parent: default allow"),
    (BY_KIND, _CHILD, "agent:main:main", False, "rule 3: deny kind subagent"),
    (CLOSED, "agent:main:main", "agent:main:cli:x", False, "default deny"),
]
