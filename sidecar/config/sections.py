"""Taking the blocks that are ours out of the tree: both spellings, unused keys, variables, validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sidecar.config import unused
from sidecar.config.documents import Tree
from sidecar.config.errors import Finding, Severity
from sidecar.config.json5 import KeyPath
from sidecar.config.schema import Compaction
from sidecar.config.search import MemorySearch
from sidecar.config.validation import Model, build, problems
from sidecar.config.variables import substitute

#: The top-level keys that are read at all. `memorySearch` is among them only to be refused by name.
SECTIONS: Final = frozenset({"memory", "agents", "session", "sidecar", "plugins", "models", "tools", "memorySearch"})


@dataclass(slots=True)
class Reader:
    """Reads blocks of a tree and collects what is wrong with them."""

    tree: Tree
    variables: Mapping[str, str]
    findings: list[Finding] = field(default_factory=list)

    def mapping(self, at: KeyPath) -> dict[str, Any]:
        """The object at a place of the tree; empty when nothing stands there or something else does."""
        value = self.tree.get(at)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.error(at, "bad_value", "should be an object", "write { ... }")
            return {}
        return value

    def block(
        self,
        at: KeyPath,
        model: type[Model],
        *,
        without: frozenset[str] = frozenset(),
        ignored: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        """The valid block at a place, as written, with variables replaced; empty when it is absent or wrong."""
        written = {key: value for key, value in self.mapping(at).items() if key not in without}
        used, dropped = unused.split(written, ignored or {})
        for path, hint in dropped.items():
            self.warn((*at, *path), "unused_key", "OpenClaw's key has no effect here", hint)
        block: dict[str, Any] = substitute(used, at, self.tree, self.variables, self.findings)
        found = problems(model, block, at, self.tree)
        self.findings += found
        return {} if any(finding.severity is Severity.ERROR for finding in found) else block

    def model(
        self,
        at: KeyPath,
        model: type[Model],
        *,
        without: frozenset[str] = frozenset(),
        ignored: dict[str, str] | None = None,
    ) -> Model:
        """The block at a place as its model; the defaults when it is absent or wrong."""
        return build(model, self.block(at, model, without=without, ignored=ignored))

    def word(self, at: KeyPath) -> str | None:
        """A single text, or None when it is absent or wrong."""
        value = self.tree.get(at)
        if value is None:
            return None
        text = substitute(value, at, self.tree, self.variables, self.findings)
        if not isinstance(text, str) or not text.strip() or "\0" in text:
            self.error(
                at, "bad_value", "should be a text that is not empty and holds no NUL", "correct it or leave it out"
            )
            return None
        return text.strip()

    def search(self, owner: KeyPath, *newer: KeyPath) -> Layers:
        """The search settings of an owner (`agents.defaults`, an agent) in both spellings, the newer ones on top."""
        places = ((*owner, "memorySearch"), *newer)
        written = [place for place in places if self.mapping(place)]
        if len(written) > 1:
            message = "the same settings stand in two spellings; the newer ones win, key by key"
            self.warn(written[0], "two_spellings", message, "move everything to the newer spelling")
        blocks = [(place, self.block(place, MemorySearch, ignored=unused.SEARCH)) for place in written]
        return Layers(tuple(blocks))

    def compaction(self, owner: KeyPath) -> Layers:
        """The compaction settings of an owner."""
        place = (*owner, "compaction")
        if "contextLimits" in self.mapping(owner):
            hint = "memory_get has limits of its own"
            self.warn((*owner, "contextLimits"), "unused_key", "OpenClaw's key has no effect here", hint)
        return Layers(((place, self.block(place, Compaction, ignored=unused.COMPACTION)),))

    def error(self, at: KeyPath, code: str, message: str, hint: str) -> None:
        """Record what stops the daemon."""
        self.findings.append(self.tree.finding(at, code, message, hint))

    def warn(self, at: KeyPath, code: str, message: str, hint: str) -> None:
        """Record what it lives with."""
        self.findings.append(self.tree.finding(at, code, message, hint, severity=Severity.WARNING))


@dataclass(frozen=True, slots=True)
class Layers:
    """Blocks with their places, weakest first."""

    blocks: tuple[tuple[KeyPath, dict[str, Any]], ...] = ()

    def over(self, weaker: Layers) -> Layers:
        """These layers on top of weaker ones."""
        return Layers(weaker.blocks + self.blocks)

    @property
    def places(self) -> tuple[KeyPath, ...]:
        """Where the values may be written, strongest first."""
        return tuple(place for place, _ in reversed(self.blocks))

    def merged(self) -> dict[str, Any]:
        """One block: objects merge key by key, anything else is replaced by the stronger layer."""
        result: dict[str, Any] = {}
        for _, block in self.blocks:
            result = merge(result, block)
        return result


def merge(weaker: Any, stronger: Any, key: str = "") -> Any:
    """`stronger` over `weaker`. Extra paths add up, as OpenClaw's do: an agent has the shared folders and its own."""
    if isinstance(weaker, dict) and isinstance(stronger, dict):
        shared = {name: merge(weaker[name], value, name) for name, value in stronger.items() if name in weaker}
        return {**weaker, **stronger, **shared}
    if key == "extraPaths" and isinstance(weaker, list) and isinstance(stronger, list):
        return weaker + [item for item in stronger if item not in weaker]
    return stronger
