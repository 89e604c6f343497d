"""What calls take: the fields of the daemon's bodies, by their names in JSON. None means left out."""

from __future__ import annotations

from typing import Literal, NotRequired, Required, TypeAlias, TypedDict

Mode: TypeAlias = Literal["search", "vsearch", "query"]


class Caller(TypedDict, total=False):
    """Facts about the caller."""

    sandboxed: bool | None
    owner: bool | None
    channel: str | None


class Reader(TypedDict, total=False):
    """Who wants to see memory."""

    sessionKey: str | None
    parentSessionKey: str | None


class ConversationReader(Reader, total=False):
    """Who wants to see memory that conversations are part of."""

    visibleSessions: list[str] | None
    caller: Caller | None


class Search(ConversationReader, total=False):
    """Of `memory_search`; `after` and `before` are days such as `2026-01-31`."""

    query: Required[str]
    maxResults: int | None
    minScore: float | None
    corpus: Literal["all", "memory", "sessions"] | None
    mode: Mode | None
    after: str | None
    before: str | None
    timeoutMs: int | None
    explain: bool | None


#: `from` is a word of Python: `Get(path="MEMORY.md", **{"from": 3})`.
_Start = TypedDict("_Start", {"from": NotRequired[int | None]})


class Get(ConversationReader, _Start, total=False):
    """Of `memory_get`; a path may be a citation, `MEMORY.md#L3-L7`."""

    path: Required[str]
    lines: int | None
    column: int | None


class Triggers(Reader, total=False):
    """Of `triggers`."""

    message: Required[str]


class Explain(Reader, total=False):
    """Of the explanation of scope."""

    agent: Required[str]


class Flushed(Reader, total=False):
    """Whose flush is meant."""

    sessionId: str | None
    compactionCount: int | None


class Flush(Flushed, total=False):
    """Of `memory_flush`."""

    contextWindow: Required[int]
    totalTokens: int | None
    transcriptBytes: int | None
    workspaceAccess: Required[Literal["rw", "ro", "none"]]
    sandboxed: bool | None


class FlushResult(Flushed, total=False):
    """Of the result of a flush."""

    result: Required[Literal["done", "failed", "aborted"]]


class Sync(TypedDict, total=False):
    """Of `sync`; `estimate` only tells what it takes."""

    force: bool | None
    embed: bool | None
    wait: bool | None
    estimate: bool | None


class Export(TypedDict, total=False):
    """Of `export`; `since` is a day such as `2026-01-31`."""

    dryRun: bool | None
    diff: bool | None
    since: str | None


class Purge(TypedDict, total=False):
    """Of `purge`: either `session` or `pattern`."""

    session: str | None
    pattern: str | None
    dryRun: bool | None


class Doctor(TypedDict, total=False):
    """Of `doctor`: checks by their ids, and what they may do."""

    only: list[str] | None
    skip: list[str] | None
    deep: bool | None
    fix: bool | None
    shellPath: str | None
