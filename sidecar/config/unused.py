"""Keys of OpenClaw 2026.2 to 2026.9 that mean nothing here: accepted, with one notice each."""

from __future__ import annotations

from typing import Any, Final

_MCPORTER: Final = "the sidecar keeps qmd warm itself; see memory.qmd.resident"
_FIXED: Final = "the sidecar decides this itself"

MEMORY: Final = {
    "qmd.mcporter": _MCPORTER,
    "qmd.searchTool": _MCPORTER,
    "qmd.update.startup": "the sidecar starts with the service; see memory.qmd.update.onBoot",
    "qmd.update.startupDelayMs": "the sidecar starts with the service; see memory.qmd.update.onBoot",
}

SEARCH: Final = {
    "qmd": "list the folders under memorySearch.extraPaths or memory.qmd.paths",
    "rememberAcrossConversations": "see memorySearch.sources and memory.qmd.sessions",
    "inputType": "set queryInputType and documentInputType",
    "remote.nonBatchConcurrency": _FIXED,
    "local.contextSize": _FIXED,
    "store.fts": "the built-in index understands every script with its own tokenizer",
    "sync.embeddingBatchTimeoutSeconds": _FIXED,
    "sync.sessions.postCompactionForce": _FIXED,
}

COMPACTION: Final = {"memoryFlush.model": "the gateway chooses the model of its own turn"}


def split(value: dict[str, Any], unused: dict[str, str]) -> tuple[dict[str, Any], dict[tuple[str, ...], str]]:
    """`value` without the unused keys, and the ones that it held, each with what to do instead."""
    found: dict[tuple[str, ...], str] = {}
    for dotted, hint in unused.items():
        path = tuple(dotted.split("."))
        without = _without(value, path)
        if without is not None:
            value, found[path] = without, hint
    return value, found


def _without(value: Any, path: tuple[str, ...]) -> dict[str, Any] | None:
    """A copy without the key at `path`; None when it is not there."""
    head, *rest = path
    if not isinstance(value, dict) or head not in value:
        return None
    others = {key: item for key, item in value.items() if key != head}
    if not rest:
        return others
    inner = _without(value[head], tuple(rest))
    return None if inner is None else {**others, head: inner}
