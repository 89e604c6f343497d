"""Session keys: every shape that gateways build, and every shape that must not be guessed at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scope import parse
from scope.session_key import MAX_KEY_CHARS
from tests.scope import making

READ = [
    # key, kind, channel, chat type
    ("agent:main:main", "main", None, "direct"),
    ("main", "main", None, "direct"),
    ("  Agent:MAIN:Main ", "main", None, "direct"),
    ("agent:main:main:thread:1700", "main", None, "direct"),
    ("agent:main:main:heartbeat", "heartbeat", None, "direct"),
    ("agent:main:main:thread:1700:heartbeat", "heartbeat", None, "direct"),
    ("agent:main:main:thread:$event:server", "main", None, "direct"),
    ("agent:main:heartbeat", "heartbeat", None, "direct"),
    ("agent:main:global", "main", None, "direct"),
    ("agent:main:telegram:direct:123", "direct", "telegram", "direct"),
    ("telegram:dm:1", "direct", "telegram", "direct"),
    ("agent:main:direct:123", "direct", None, "direct"),
    ("agent:main:telegram:acct1:direct:123", "direct", "telegram", "direct"),
    ("agent:main:telegram:direct:1:thread:2", "direct", "telegram", "direct"),
    ("agent:main:whatsapp:direct:+491700", "direct", "whatsapp", "direct"),
    ("agent:main:irc:direct:日本", "direct", "irc", "direct"),
    ("agent:main:discord:direct:agent", "direct", "discord", "direct"),
    ("agent:main:telegram:group:-100", "group", "telegram", "group"),
    ("agent:main:telegram:group:-100:topic:7", "group", "telegram", "group"),
    ("agent:main:telegram:acct:group:-100:topic:7", "group", "telegram", "group"),
    ("agent:main:line:group:group:c1", "group", "line", "group"),
    ("whatsapp:group:120@g.us", "group", "whatsapp", "group"),
    ("group:x", "group", None, "group"),
    ("agent:main:slack:channel:c1", "channel", "slack", "channel"),
    ("agent:main:slack:channel:c1:thread:1.2", "channel", "slack", "channel"),
    ("agent:main:discord:acct:channel:9", "channel", "discord", "channel"),
    ("Agent:Main:Discord:Channel:9", "channel", "discord", "channel"),
    ("agent:main:cron:job", "cron", None, "direct"),
    ("agent:main:cron:job:run:id", "cron", None, "direct"),
    ("hook:gmail:1", "hook", None, "direct"),
    ("agent:main:cron:group", "cron", None, "direct"),
    ("agent:main:hook:telegram:direct:1", "hook", None, "direct"),
    ("agent:main:matrix:channel:!room:server.org", "channel", "matrix", "channel"),
    ("agent:codex:acp:uuid", "acp", None, "direct"),
    ("agent:main:subagent:uuid", "subagent", None, None),
    ("agent:main:subagent:uuid:subagent:uuid", "subagent", None, None),
    ("agent:main:x:subagent:uuid", "subagent", None, None),
    ("agent:main:cron:job:subagent:uuid", "subagent", None, None),
    ("agent:main:telegram:direct:1:subagent:u", "subagent", None, None),
    ("agent:main:cli:direct:memory-search", "cli", None, "direct"),
    ("agent:main:discord:slash:1", "unknown", None, None),
    ("agent:main:openai:uuid", "unknown", None, None),
    ("unknown", "unknown", None, None),
]

REFUSED = [
    (None, "missing"),
    ("", "missing"),
    (" \t\n", "missing"),
    ("agent", "nothing after the agent"),
    ("agent:main", "nothing after the agent"),
    ("agent:main:", "empty part"),
    ("agent::main", "empty part"),
    (":main", "empty part"),
    ("agent:main:discord::channel:1", "empty part"),
    ("agent:main:agent:main:main", "doubled"),
    ("agent:main:main:agent:main:main", "doubled"),
    ("agent:main:agent", "doubled"),
    ("agent:main:telegram:direct", "without a peer"),
    ("agent:main:group", "without a peer"),
    ("agent:main:direct:group:x", "two chat types"),
    ("agent:main:discord:direct:channel:9", "two chat types"),
    ("agent:main:discord:direct:1:channel:9", "two chat types"),
    ("agent:main:a:b:c:channel:9", "too deep"),
    ("agent:main:main:channel:9", "inside a session of the owner"),
    ("agent:main:main:discord", "main session"),
    ("agent:main:main:thread", "main session"),
    ("agent:main:main:heartbeat:1", "main session"),
    ("agent:main:main:thread:1:channel:9", "inside a session of the owner"),
    ("agent:main:cron:job:discord:channel:9", "inside a session of the owner"),
    ("hook:slack:group:1", "inside a session of the owner"),
    ("agent:main:acp:group:1", "inside a session of the owner"),
    ("agent:main:heartbeat:group:1", "inside a session of the owner"),
    ("agent:main:cli:channel:9", "inside a session of the owner"),
    ("agent:main:disc ord:direct:9", "blank"),
    ("agent:main :main", "blank"),
    ("agent:main:main\x00", "invisible"),
    ("agent:main:chan\u200bnel:9", "invisible"),
    ("agent:main:\u202emain", "invisible"),
    ("agent:main:irc:direct:ma\ufe0fya", "invisible"),
    ("agent:main:irc:direct:\u1160", "invisible"),
    ("agent:main:irc:direct:a\u034fb", "invisible"),
    ("agent:main:cron:\U000e0100", "invisible"),
    ("agent:main:cron:\u2800", "invisible"),
    ("agent:main:discord\ud800:direct:1", "invisible"),
    ("agent:main:telegram：direct：1", "look-alike"),
    ("agent:main:ｄirect:1", "look-alike"),
    ("agent:main:discord:сhannel:1", "look-alike"),
    ("agent:main:mаin", "look-alike"),
    ("agent:main:discоrd:direct:1", "channel name"),
    ("agent:main:../x:direct:1", "channel name"),
    ("x" * 10_240, "longer than"),
    ("x" * (MAX_KEY_CHARS + 1), "longer than"),
]


@pytest.mark.parametrize(("key", "kind", "channel", "chat_type"), READ)
def test_a_known_shape_gives_its_facts(key: str, kind: str, channel: str | None, chat_type: str | None) -> None:
    """Kind, channel and chat type come out of every shape that a gateway builds."""
    parsed = parse(key)
    assert (parsed.valid, parsed.problem) == (True, "")
    assert (parsed.kind, parsed.channel, parsed.chat_type) == (kind, channel, chat_type)


@pytest.mark.parametrize(("key", "problem"), REFUSED)
def test_a_key_that_could_mean_two_things_is_not_valid(key: str | None, problem: str) -> None:
    """A malformed, disguised or ambiguous key is refused with a reason, and gives no facts."""
    parsed = parse(key)
    assert not parsed.valid
    assert problem in parsed.problem
    assert (parsed.kind, parsed.channel, parsed.chat_type, parsed.normalized) == ("unknown", None, None, "")


def test_the_agent_is_cut_off_and_case_is_folded() -> None:
    """The normalised key has neither `agent:<id>:` nor upper case; the raw one is kept."""
    parsed = parse(" Agent:Ops:Slack:Channel:C1 ")
    assert (parsed.raw, parsed.normalized, parsed.agent_id) == ("Agent:Ops:Slack:Channel:C1", "slack:channel:c1", "ops")


def test_case_is_folded_alike_wherever_a_letter_stands() -> None:
    """A rule that names a peer also matches the key that goes on behind the peer: Greek has two small sigmas."""
    alone, within = parse("irc:direct:ΟΔΟΣ"), parse("irc:direct:ΟΔΟΣ:thread:1")
    assert within.normalized.startswith(alone.normalized)


def test_a_problem_does_not_quote_the_key() -> None:
    """What stands in the key may be private, and the problem is logged."""
    assert "whistle" not in parse("agent:main:whistle::blower").problem


@given(st.one_of(making.keys, st.text(st.characters(codec=None))))
def test_parsing_is_total(key: str | None) -> None:
    """Any text gives a value, and it has a problem exactly when it is not valid."""
    parsed = parse(key)
    assert parsed.valid == (parsed.problem == "")
    assert parsed.valid == bool(parsed.normalized)


@given(making.keys)
def test_case_and_outer_blanks_do_not_matter(key: str | None) -> None:
    """A key in other case, or with blanks around it, says the same."""
    ascii_key = (key or "").encode("ascii", "ignore").decode()
    first, second = parse(ascii_key), parse(f" {ascii_key.upper()} ")
    assert (first.normalized, first.kind, first.channel, first.chat_type) == (
        second.normalized,
        second.kind,
        second.channel,
        second.chat_type,
    )


@given(making.keys)
def test_a_normalised_key_reads_as_itself(key: str | None) -> None:
    """Parsing what came out of parsing changes nothing."""
    first = parse(key)
    if first.valid:
        again = parse(first.normalized)
        assert (again.normalized, again.kind, again.chat_type) == (first.normalized, first.kind, first.chat_type)
