"""Rules that decide nothing: they match no key, or another rule has the same say about every key that they match.

Sound and not complete: what is called idle can be removed without changing a single decision, while a rule that
is not called idle may still be one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, get_args

from scope.rules import Policy, Rule
from scope.session_key import CHANNEL_NAME, CHAT_MARKERS, CHAT_TYPE_OF, RESERVED_HEADS, ChatType, fold, has_hidden_text

_AGENT: Final = "agent:"


@dataclass(frozen=True, slots=True)
class IdleRule:
    """A rule without effect: its `number` in the policy, from 1, why, and what to do. Values are not quoted."""

    number: int
    why: str
    hint: str


def idle_rules(policy: Policy, agent_ids: Collection[str]) -> tuple[IdleRule, ...]:
    """The rules that decide nothing for any of these agents. All of them can be removed together."""
    reasons = (_why_idle(policy, place, agent_ids) for place in range(len(policy.rules)))
    return tuple(IdleRule(number, *reason) for number, reason in enumerate(reasons, start=1) if reason)


def _why_idle(policy: Policy, place: int, agent_ids: Collection[str]) -> tuple[str, str] | None:
    rule = policy.rules[place]
    reason = next(_contradictions(rule), None) or next(_impossible_prefixes(rule, agent_ids), None)
    if reason is None and rule.action == "allow":
        reason = _needless_allow(policy, rule)
    return reason or _shadow(policy, place)


def _contradictions(rule: Rule) -> Iterator[tuple[str, str]]:
    """Conditions that no key meets together."""
    if rule.kind == "cli":
        yield "the command line is let in before any rule is asked", "remove it; the socket's mode is the wall"
    if rule.channel is not None and (rule.channel in RESERVED_HEADS or not CHANNEL_NAME.fullmatch(rule.channel)):
        yield "no chat program has such a name", 'name one, like "telegram"; for kinds of chats use chatType'
    if rule.kind is None:
        return
    chat_type = CHAT_TYPE_OF[rule.kind]
    if rule.chat_type is not None and rule.chat_type != chat_type:
        yield f"a session of kind {rule.kind} never has chatType {rule.chat_type}", "leave one of the two out"
    if rule.channel is not None and rule.kind not in get_args(ChatType):
        yield f"a session of kind {rule.kind} has no channel", "leave kind or channel out"


def _impossible_prefixes(rule: Rule, agent_ids: Collection[str]) -> Iterator[tuple[str, str]]:
    """Prefixes that no key of these agents starts with."""
    for prefix in _plain_prefixes(rule):
        if not _may_start_key(prefix):
            yield "no key starts with this keyPrefix", "a key is parts with colons between, without blanks"
        if rule.channel is not None and not _agree(prefix, f"{rule.channel}:"):
            yield "no key of this channel starts with this keyPrefix", "leave one of the two out"
        if rule.chat_type is not None and _chat_type_in(prefix) not in (None, rule.chat_type):
            yield "the keyPrefix names another chat type than chatType", "leave one of the two out"
    for prefix in _whole_prefixes(rule):
        if not any(_may_start_whole_key(prefix, fold(agent_id)) for agent_id in agent_ids):
            hint = "a whole key is agent:<id>: and more; without agent:<id>: use keyPrefix"
            yield "no key of a configured agent starts with this prefix", hint


def _plain_prefixes(rule: Rule) -> list[str]:
    """What the key without `agent:<id>:` must start with."""
    return [prefix for prefix in (rule.key_prefix,) if prefix is not None and not prefix.startswith(_AGENT)]


def _whole_prefixes(rule: Rule) -> list[str]:
    """What the whole key must start with."""
    named = [] if rule.raw_key_prefix is None else [rule.raw_key_prefix]
    return named + [prefix for prefix in (rule.key_prefix,) if prefix is not None and prefix.startswith(_AGENT)]


def _may_start_key(prefix: str) -> bool:
    return not (has_hidden_text(prefix) or prefix.startswith(":") or "::" in prefix)


def _chat_type_in(prefix: str) -> ChatType | None:
    """The chat type that every readable chat with this beginning has; only parts that end in the prefix count."""
    return next((CHAT_MARKERS[part] for part in prefix.split(":")[:-1] if part in CHAT_MARKERS), None)


def _may_start_whole_key(prefix: str, agent_id: str) -> bool:
    start = f"{_AGENT}{agent_id}:"
    # A key may come without `agent:<id>:`, and is then whole as it stands.
    rest = prefix.removeprefix(start)
    return start.startswith(prefix) or (_may_start_key(rest) and (rest != prefix or not prefix.startswith(_AGENT)))


def _agree(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _needless_allow(policy: Policy, rule: Rule) -> tuple[str, str] | None:
    if policy.default == "allow":
        return "the default allows already what it allows", 'remove it, or set default to "deny"'
    if rule.kind == "subagent":
        return "a sub-agent is allowed what its parent is, and nothing else", "pass parentSessionKey; remove the rule"
    return None


def _shadow(policy: Policy, place: int) -> tuple[str, str] | None:
    """The rule that has the same say, or a stronger one, about every key that this rule matches."""
    rule = policy.rules[place]
    for number, other in enumerate(policy.rules, start=1):
        if number == place + 1 or (rule.action == "deny" and other.action == "allow") or not _covers(other, rule):
            continue
        if other.action != rule.action:
            return f"rule {number} denies all that it allows, and deny wins", "narrow the deny, or remove this rule"
        # Of two equal rules the first one stays.
        if number <= place or not _covers(rule, other):
            return f"rule {number} says so already", "remove it"
    return None


def _covers(wide: Rule, narrow: Rule) -> bool:
    """Whether every key that `narrow` matches is matched by `wide`, as far as the conditions show it."""
    chat_type = narrow.chat_type or (CHAT_TYPE_OF[narrow.kind] if narrow.kind is not None else None)
    # Of groups and channels the chat type alone says the kind.
    kind = narrow.kind or (narrow.chat_type if narrow.chat_type != "direct" else None)
    return (
        wide.channel in (None, narrow.channel)
        and wide.chat_type in (None, chat_type)
        and wide.kind in (None, kind)
        and _implied(_plain_prefixes(wide), _plain_prefixes(narrow))
        and _implied(_whole_prefixes(wide), _whole_prefixes(narrow))
    )


def _implied(wanted: list[str], given: list[str]) -> bool:
    return all(any(prefix.startswith(start) for prefix in given) for start in wanted)
