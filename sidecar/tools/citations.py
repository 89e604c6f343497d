"""Where a passage stands, as a footer that people can follow and `memory_get` can read."""

from __future__ import annotations

from backends.base import Hit
from scope import Decision
from sidecar.config import Memory


def cites(memory: Memory, decision: Decision) -> bool:
    """Whether this caller is shown sources: `auto` names files in direct chats alone."""
    return memory.citations == "on" or (memory.citations == "auto" and decision.chat_type == "direct")


def citation(hit: Hit) -> str:
    """`path#L3-L7`, `path#L3` for one line, and the path alone of what has no lines."""
    if hit.media:
        return hit.path
    first = f"{hit.path}#L{hit.start_line}"
    return first if hit.end_line == hit.start_line else f"{first}-L{hit.end_line}"


def with_footer(snippet: str, source: str) -> str:
    """The snippet without blanks around it, and its source below."""
    return f"{snippet.strip()}\n\nSource: {source}"
