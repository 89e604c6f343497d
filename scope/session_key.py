"""Read a gateway's session key into facts that a rule can test.

The key is built by the gateway: `agent:<id>:<rest>`, or `<rest>` alone. `parse` is total and pure. It never
guesses: a key that could be read in two ways is not valid, and a key that is not valid is denied.
OpenClaw called everything that it could not read a direct chat, and so opened the owner's memory to it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

ChatType = Literal["direct", "group", "channel"]
Kind = Literal[
    "main", "direct", "group", "channel", "cron", "hook", "heartbeat", "acp", "subagent", "cli", "unknown"
]  # fmt: skip

MAX_KEY_CHARS: Final = 1024

# How a key names a chat's type. `dm` is the older spelling of `direct`.
CHAT_MARKERS: Final[dict[str, ChatType]] = {"direct": "direct", "dm": "direct", "group": "group", "channel": "channel"}

# Sessions that act for the owner and have no chat: they count as direct.
_OWNER_HEADS: Final[dict[str, Kind]] = {
    "main": "main",
    "global": "main",
    "cron": "cron",
    "hook": "hook",
    "heartbeat": "heartbeat",
    "acp": "acp",
    "cli": "cli",
}
_BARE_HEADS: Final = frozenset({"main", "global"})
_MAIN_TAILS: Final = frozenset({"thread", "topic"})

CHAT_TYPE_OF: Final[dict[str, ChatType | None]] = {
    **dict.fromkeys(get_args(Kind), None),
    **dict.fromkeys(_OWNER_HEADS.values(), "direct"),
    **{kind: kind for kind in get_args(ChatType)},
}
"""The chat type of every kind of session; None where the kind has none."""

#: First parts that are structure and so never the name of a chat program.
RESERVED_HEADS: Final = frozenset({"agent", "subagent", *_OWNER_HEADS, *CHAT_MARKERS})

# `<channel>:<account>:<type>:<peer>` is the deepest place where a chat type may stand.
_DEEPEST_MARKER: Final = 2
CHANNEL_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*")

# Fillers, joiners, variation selectors and the blank Braille cell: `str.isprintable` lets them through.
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True, slots=True)
class SessionKey:
    """What a session key says.

    `raw` is the key, trimmed; `normalized` is lower-case and without `agent:<id>:`, empty when not valid. `channel`
    is the chat program (`telegram`), `chat_type` None where the shape names none. `problem` is empty exactly
    when the key is valid; it never quotes the key.
    """

    raw: str
    normalized: str
    agent_id: str | None
    channel: str | None
    chat_type: ChatType | None
    kind: Kind
    valid: bool
    problem: str


@dataclass(frozen=True, slots=True)
class _Shape:
    kind: Kind
    channel: str | None = None


class _MalformedError(ValueError):
    """The key cannot be read in exactly one way."""


def parse(key: str | None) -> SessionKey:
    """The facts of a session key; never raises. Unsure means `valid=False` with the reason in `problem`."""
    raw = (key or "").strip()
    agent_id = None
    try:
        _check_text(raw)
        agent_id, rest = _split_agent(fold(raw).split(":"))
        shape = _shape(rest)
    except _MalformedError as error:
        return SessionKey(raw, "", agent_id, None, None, "unknown", valid=False, problem=str(error))
    chat_type = CHAT_TYPE_OF[shape.kind]
    return SessionKey(raw, ":".join(rest), agent_id, shape.channel, chat_type, shape.kind, valid=True, problem="")


def fold(text: str) -> str:
    """The text in lower case, the same letter everywhere: `str.lower` writes a Greek sigma by what follows it."""
    return text.lower().replace("ς", "σ")


def has_hidden_text(text: str) -> bool:
    """Whether the text holds blanks, control characters or characters that no reader sees."""
    return not text.isprintable() or " " in text or _INVISIBLE.search(text) is not None


def _check_text(raw: str) -> None:
    if not raw:
        raise _MalformedError("key missing")
    if len(raw) > MAX_KEY_CHARS:
        raise _MalformedError(f"key malformed: longer than {MAX_KEY_CHARS} characters")
    if has_hidden_text(raw):
        raise _MalformedError("key malformed: blank or invisible characters")
    # A full-width colon or letter looks like structure and is none.
    if not unicodedata.is_normalized("NFKC", raw):
        raise _MalformedError("key malformed: look-alike characters")


def _split_agent(parts: list[str]) -> tuple[str | None, list[str]]:
    if not all(parts):
        raise _MalformedError("key malformed: an empty part")
    if parts[0] != "agent":
        agent_id, rest = None, parts
    elif len(parts) > 2:
        agent_id, rest = parts[1], parts[2:]
    else:
        raise _MalformedError("key malformed: nothing after the agent")
    # A user may be called `agent`; a whole second key inside the first is a gateway's mistake or worse.
    if rest[0] == "agent" or "agent" in rest[:-2]:
        raise _MalformedError("key doubled")
    return agent_id, rest


def _shape(rest: list[str]) -> _Shape:
    # Wherever it stands, `subagent` means that somebody else's session decides.
    if "subagent" in rest:
        return _Shape("subagent")
    head = rest[0]
    if head not in _OWNER_HEADS:
        return _chat(rest) or _unknown(rest)
    # `hook:discord:channel:9` may be a hook, or a room that a hook speaks in.
    if any(CHAT_MARKERS.get(part, "direct") != "direct" for part in rest[1:-1]):
        raise _MalformedError("key ambiguous: a group or channel inside a session of the owner")
    return _Shape(_kind_of_main(rest[1:]) if head in _BARE_HEADS else _OWNER_HEADS[head])


def _kind_of_main(tail: Sequence[str]) -> Kind:
    """`main[:thread|topic:<id>][:heartbeat]`."""
    is_heartbeat = tail[-1:] == ["heartbeat"]
    thread = tail[:-1] if is_heartbeat else tail
    if thread and (thread[0] not in _MAIN_TAILS or len(thread) == 1):
        raise _MalformedError("key malformed: a main session with an unknown part")
    return "heartbeat" if is_heartbeat else "main"


def _chat(rest: list[str]) -> _Shape | None:
    """`[<channel>:[<account>:]]<type>:<peer>[:thread|topic:<id>]`, or None where no part names a chat type."""
    places = [place for place, part in enumerate(rest) if part in CHAT_MARKERS]
    if not places:
        return None
    if len({CHAT_MARKERS[rest[place]] for place in places}) > 1:
        raise _MalformedError("key ambiguous: two chat types")
    place = places[0]
    if place > _DEEPEST_MARKER:
        raise _MalformedError("key ambiguous: the chat type stands too deep")
    if place == len(rest) - 1:
        raise _MalformedError("key malformed: a chat type without a peer")
    channel = rest[0] if place else None
    if channel and not CHANNEL_NAME.fullmatch(channel):
        raise _MalformedError("key malformed: not a channel name")
    return _Shape(CHAT_MARKERS[rest[place]], channel)


def _unknown(rest: list[str]) -> _Shape:
    """A well-formed key of a shape that we do not know: no chat type, so only a rule that names it can allow it."""
    # Its parts are structure, and a Cyrillic letter in `channel` is a disguise.
    if not all(part.isascii() for part in rest):
        raise _MalformedError("key malformed: look-alike characters")
    return _Shape("unknown")
