"""The rules that an operator writes: OpenClaw's `session.sendPolicy` schema, with one meaning.

Any matching deny wins, then any matching allow, then the default; a missing default is deny.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Final, Literal, get_args

from scope.session_key import CHAT_MARKERS, Kind, SessionKey, fold

# In order of strength: a matching deny beats a matching allow.
Action = Literal["deny", "allow"]

_SPELLED: Final = {
    "channel": "channel",
    "chat_type": "chatType",
    "key_prefix": "keyPrefix",
    "raw_key_prefix": "rawKeyPrefix",
    "kind": "kind",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; a condition that is None is not tested, and a rule without conditions matches every key.

    Text is normalised on the way in: NFKC, trimmed, lower-case, `dm` to `direct`. Raises ValueError for an unknown
    action, chat type or kind and for a blank condition, which would silently match everything or nothing.
    """

    action: Action
    channel: str | None = None
    chat_type: str | None = None
    key_prefix: str | None = None
    raw_key_prefix: str | None = None
    kind: str | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                object.__setattr__(self, field.name, _normal(field.name, value))
        _require("action", self.action, get_args(Action))
        _require("chatType", self.chat_type, tuple(CHAT_MARKERS))
        _require("kind", self.kind, get_args(Kind))
        if self.chat_type is not None:
            object.__setattr__(self, "chat_type", CHAT_MARKERS[self.chat_type])

    def __str__(self) -> str:
        """The rule as an operator would say it: `deny keyPrefix discord:channel:`."""
        given = ((_SPELLED[name], getattr(self, name)) for name in _SPELLED)
        return " ".join([self.action, *(f"{name} {value}" for name, value in given if value is not None)])

    def unmet(self, key: SessionKey, *, agent_id: str) -> str:
        """The first condition that the key does not meet, in words; empty when the rule matches."""
        return next(self._unmet_conditions(key, agent_id), "")

    def _unmet_conditions(self, key: SessionKey, agent_id: str) -> Iterator[str]:
        if self.channel is not None and self.channel != key.channel:
            yield f"channel is {key.channel or 'not known'}, not {self.channel}"
        if self.chat_type is not None and self.chat_type != key.chat_type:
            yield f"chatType is {key.chat_type or 'not known'}, not {self.chat_type}"
        if self.kind is not None and self.kind != key.kind:
            yield f"kind is {key.kind}, not {self.kind}"
        if self.key_prefix is not None and not _has_prefix(key, self.key_prefix, agent_id):
            yield f"the key does not start with {self.key_prefix}"
        if self.raw_key_prefix is not None and not _has_raw_prefix(key, self.raw_key_prefix, agent_id):
            yield f"the whole key does not start with {self.raw_key_prefix}"


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in the operator's order, and what holds where none matches."""

    default: Action = "deny"
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        _require("default", self.default, get_args(Action))


def _normal(name: str, value: str) -> str:
    # Valid keys are NFKC; a rule typed in another form would quietly match nothing.
    text = fold(unicodedata.normalize("NFKC", value).strip())
    if not text:
        raise ValueError(f"{_SPELLED.get(name, name)} is blank: give it a value or leave it out")
    return text


def _require(name: str, value: str | None, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        raise ValueError(f"{name} {value!r} is not known: use one of {', '.join(known)}")


def _has_prefix(key: SessionKey, prefix: str, agent_id: str) -> bool:
    if prefix.startswith("agent:"):
        return _has_raw_prefix(key, prefix, agent_id)
    return key.normalized.startswith(prefix)


def _has_raw_prefix(key: SessionKey, prefix: str, agent_id: str) -> bool:
    # A gateway may leave `agent:<id>:` out; that must not step around a rule that names the agent.
    whole = f"agent:{key.agent_id or fold(agent_id)}:{key.normalized}"
    return fold(key.raw).startswith(prefix) or whole.startswith(prefix)


DEFAULT_POLICY: Final = Policy(default="deny", rules=(Rule("allow", chat_type="direct"),))
"""What holds without a configured scope: direct chats, and whatever acts for the owner, may read."""
