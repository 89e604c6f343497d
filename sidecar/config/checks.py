"""What no single key can get wrong: two agents on one file, deadlines that contradict each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from sidecar.config import scope_checks
from sidecar.config.agents import Resolved
from sidecar.config.documents import Tree
from sidecar.config.json5 import KeyPath
from sidecar.config.loopback import address
from sidecar.config.schema import Memory, Sidecar
from sidecar.config.sections import Reader
from sidecar.config.settings import AgentSettings

_UPDATE: Final[KeyPath] = ("memory", "qmd", "update")
_LIMITS: Final[KeyPath] = ("memory", "qmd", "limits")
#: How long OpenClaw waits for its memory_search tool.
_GATEWAY_WAITS_MS: Final = 15_000


def run(reader: Reader, memory: Memory, sidecar: Sidecar, resolved: Resolved) -> None:
    """Every check; problems go to `reader`."""
    _misplaced(reader)
    _deadlines(reader, memory)
    _limits(reader, memory)
    _default_results(reader, resolved, memory)
    _redaction(reader, sidecar)
    _metrics(reader, sidecar)
    scope_checks.run(reader, memory.qmd.scope.policy(), resolved.agents)
    _one_store_each(reader, resolved)
    _stores_outside_workspaces(reader, resolved)
    _shared_workspaces(reader, resolved)
    for agent in resolved.agents.values():
        _sessions(reader, resolved, agent, memory)
        _multimodal(reader, resolved, agent)
        _batches(reader, resolved, agent)


def _misplaced(reader: Reader) -> None:
    if "memorySearch" in reader.tree.value:
        hint = "move it to agents.defaults.memorySearch"
        reader.error(("memorySearch",), "misplaced_key", "this section has no place at the top level", hint)


def _deadlines(reader: Reader, memory: Memory) -> None:
    update = memory.qmd.update
    if 0 < update.interval_s * 1000 < update.debounce_ms:
        message = "updates are due more often than debounceMs lets them run; debounceMs holds"
        reader.warn((*_UPDATE, "interval"), "no_effect", message, "raise interval or lower debounceMs")
    if update.wait_for_boot_sync and not update.on_boot:
        message = "there is no boot sync to wait for while onBoot is false"
        reader.error((*_UPDATE, "waitForBootSync"), "contradiction", message, "set onBoot to true")
    if memory.backend == "builtin" and memory.fallback == "none" and memory.merge:
        message = "there is one engine only, so nothing can be merged"
        reader.warn(("memory", "merge"), "no_effect", message, 'set backend to "auto" or "qmd"')


def _limits(reader: Reader, memory: Memory) -> None:
    limits = memory.qmd.limits
    snippet, injected = (*_LIMITS, "maxSnippetChars"), (*_LIMITS, "maxInjectedChars")
    # Beside one that is written, a default gives way.
    both = reader.tree.written(snippet) and reader.tree.written(injected)
    if both and limits.max_snippet_chars > limits.max_injected_chars:
        message = "one snippet would be longer than all text that may leave"
        reader.error(snippet, "contradiction", message, "lower maxSnippetChars or raise maxInjectedChars")
    if limits.timeout_ms > _GATEWAY_WAITS_MS:
        message = f"OpenClaw gives a search up after {_GATEWAY_WAITS_MS // 1000} s, and its user gets no answer at all"
        reader.warn((*_LIMITS, "timeoutMs"), "too_late", message, f"lower timeoutMs below {_GATEWAY_WAITS_MS}")


def _default_results(reader: Reader, resolved: Resolved, memory: Memory) -> None:
    most = memory.qmd.limits.max_results
    agents = resolved.agents.values()
    wanted = {_place(reader, resolved, each, ("query", "maxResults")): each.search.query.max_results for each in agents}
    for at, number in wanted.items():
        if reader.tree.written(at) and number != most:
            message = f"memory.qmd.limits.maxResults, which is {most}, holds whichever engine answers"
            reader.warn(at, "no_effect", message, "set memory.qmd.limits.maxResults")


def _redaction(reader: Reader, sidecar: Sidecar) -> None:
    if not (sidecar.redact.patterns or sidecar.redact.allow):
        return
    from exporter.redact import BadPatternError, compile_pattern  # only who configures patterns pays for the engine

    for key, patterns in (("patterns", sidecar.redact.patterns), ("allow", sidecar.redact.allow)):
        for index, pattern in enumerate(patterns):
            try:
                compile_pattern(pattern)
            except BadPatternError as error:
                # Never the pattern: it may itself be a secret.
                hint = "use RE2 syntax: no look-around, no back-references"
                reader.error(("sidecar", "redact", key, index), "bad_pattern", f"not usable: {error.reason}", hint)


def _metrics(reader: Reader, sidecar: Sidecar) -> None:
    listen = sidecar.metrics.listen
    if listen is not None and address(listen) is None:
        message = (
            "metrics have no wall around them, so they are listened for on this machine alone, at a port up to 65535"
        )
        reader.error(("sidecar", "metrics", "listen"), "not_loopback", message, 'write "127.0.0.1:9464"')


def _one_store_each(reader: Reader, resolved: Resolved) -> None:
    for agent, other in _sharing(resolved, lambda agent: os.path.realpath(agent.index_path)):
        message = f"the agents {other.id} and {agent.id} would write to one index file"
        at = _place(reader, resolved, agent, ("store", "path"))
        reader.error(at, "shared_store", message, "put {agentId} into store.path, or give each agent its own")


def _stores_outside_workspaces(reader: Reader, resolved: Resolved) -> None:
    """A workspace is never written. Only a configured path is looked at: the state folder is the user's own choice."""
    workspaces = [Path(os.path.realpath(agent.workspace)) for agent in resolved.agents.values()]
    for agent in resolved.agents.values():
        at = _place(reader, resolved, agent, ("store", "path"))
        index = Path(os.path.realpath(agent.index_path))
        if reader.tree.written(at) and any(index.is_relative_to(workspace) for workspace in workspaces):
            message = f"the index of agent {agent.id} would be written into a workspace"
            reader.error(at, "store_in_workspace", message, "leave store.path out, or name a file elsewhere")


def _shared_workspaces(reader: Reader, resolved: Resolved) -> None:
    for agent, other in _sharing(resolved, lambda agent: os.path.realpath(agent.workspace)):
        at = resolved.written["agents", agent.id, "workspace"][0]
        message = f"the agents {other.id} and {agent.id} read the same workspace"
        reader.warn(at, "shared_workspace", message, "give each agent its own, unless they are to share a memory")


def _sharing(resolved: Resolved, key: Callable[[AgentSettings], str]) -> list[tuple[AgentSettings, AgentSettings]]:
    """Every agent whose `key` an earlier one has, with the earlier one."""
    first: dict[str, AgentSettings] = {}
    pairs = [(agent, first.setdefault(key(agent), agent)) for agent in resolved.agents.values()]
    return [(agent, other) for agent, other in pairs if other is not agent]


def _sessions(reader: Reader, resolved: Resolved, agent: AgentSettings, memory: Memory) -> None:
    named = "sessions" in agent.search.sources
    if named and not (agent.search.sessions_wanted or memory.qmd.sessions.enabled):
        hint = "set experimental.sessionMemory to true"
        reader.warn(_place(reader, resolved, agent, ("sources",)), "no_effect", "sessions are not switched on", hint)


def _multimodal(reader: Reader, resolved: Resolved, agent: AgentSettings) -> None:
    if agent.search.multimodal.enabled and agent.search.fallback != "none":
        message = "images and audio need one provider: another could not compare its vectors with theirs"
        at = _place(reader, resolved, agent, ("fallback",))
        reader.error(at, "contradiction", message, 'set fallback to "none" or multimodal.enabled to false')


def _batches(reader: Reader, resolved: Resolved, agent: AgentSettings) -> None:
    batch = agent.search.remote.batch
    if batch.enabled and batch.poll_interval_ms > batch.timeout_minutes * 60_000:
        message = "the batch would time out before it is first asked for"
        at = _place(reader, resolved, agent, ("remote", "batch", "pollIntervalMs"))
        reader.error(at, "contradiction", message, "lower pollIntervalMs or raise timeoutMinutes")


def search_key(tree: Tree, places: Sequence[KeyPath], key: KeyPath) -> KeyPath:
    """Which of an agent's `places`, strongest first, spells a key of `memorySearch`; the defaults' when none does."""
    spelled = [(*place, *key) for place in places if tree.written((*place, *key))]
    return spelled[0] if spelled else ("agents", "defaults", "memorySearch", *key)


def _place(reader: Reader, resolved: Resolved, agent: AgentSettings, key: KeyPath) -> KeyPath:
    """Where an agent's search key is written; where it would be when it is a default."""
    return search_key(reader.tree, resolved.written["agents", agent.id, "memorySearch"], key)
