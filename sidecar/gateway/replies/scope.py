"""Why a session may read, or not."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from scope import ChatType, Kind
from sidecar.gateway.replies.shared import Denied


class Verdict(Denied):
    """The decision and the rule that made it."""

    allowed: bool


class Key(TypedDict):
    """What a session key says; `problem` is why it is not valid, else empty."""

    normalized: str
    agent: Annotated[str | None, Field(description="The agent that the key names.")]
    channel: str | None
    chatType: ChatType | None
    kind: Kind
    valid: bool
    problem: str


class Rule(TypedDict):
    """One rule of the scope, whether it matched, and the first condition that did not hold."""

    number: Annotated[int, Field(ge=1)]
    rule: str
    matched: bool
    why: str


class Explanation(TypedDict):
    """A decision with everything that led to it."""

    decision: Verdict
    key: Key
    rules: list[Rule]
    parent: NotRequired[Annotated[Explanation, Field(description="The same of a sub-agent's parent.")]]
