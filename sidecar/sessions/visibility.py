"""Which conversations a caller may see: a function of what the request says and of whose the exports are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from exporter import Owners
from scope import fold, parse
from sidecar.config.schema import Visibility

#: More keys than one agent's sessions.json is likely to hold: each is parsed once, not at every change of the ledger.
_REMEMBERED_KEYS = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks: the key of its session, and what the gateway says of it.

    `operator` is at the command line; `named` are keys of sessions that the gateway lets it see besides its own.
    """

    session_key: str | None
    operator: bool = False
    sandboxed: bool = False
    named: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """What may be seen: paths of exports in their folder, None for all; `hidden` counts the others.

    `rule` is the one that decided, which for a sandboxed caller may be narrower than the configured one.
    """

    paths: frozenset[str] | None
    hidden: int = 0
    rule: Visibility = "all"

    def shows(self, path: str) -> bool:
        """Whether this export may be seen."""
        return self.paths is None or path in self.paths


@dataclass(frozen=True, slots=True)
class Families:
    """One agent's exports by session, and who started whom. Keys are normalised.

    `unowned` are exports of which nobody said whose they are, `foreign` those that name another agent.
    """

    exports: Mapping[str, frozenset[str]] = field(default_factory=dict)
    children: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unowned: frozenset[str] = frozenset()
    foreign: frozenset[str] = frozenset()

    @classmethod
    def of(cls, agent_id: str, owners: Owners) -> Families:
        """What a ledger knows."""
        exports: dict[str | None, set[str]] = {}
        for each in owners.exported:
            if each.export:
                exports.setdefault(_remembered(agent_id, each.session_key), set()).add(each.export)
        children: dict[str, set[str]] = {}
        for child, parent in owners.parents:
            family = _remembered(agent_id, child), _remembered(agent_id, parent)
            if family[0] and family[1]:
                children.setdefault(family[1], set()).add(family[0])
        return cls(
            {key: frozenset(paths) for key, paths in exports.items() if key},
            {key: frozenset(keys) for key, keys in children.items()},
            frozenset(exports.get("", ())),
            frozenset(exports.get(None, ())),
        )

    @property
    def total(self) -> int:
        """How many exports there are."""
        return sum(map(len, self.exports.values())) + len(self.unowned) + len(self.foreign)

    def tree(self, root: str) -> Iterator[str]:
        """The key of a session, and those of all that it started, and of all that these did."""
        seen, waiting = {root}, [root]
        while waiting:
            key = waiting.pop()
            yield key
            new = self.children.get(key, frozenset()) - seen
            seen |= new
            waiting += new


def normalised(agent_id: str, key: str) -> str | None:
    """A session key in the one spelling in which keys are compared; empty when it is none, None for another agent's."""
    parsed = parse(key)
    if parsed.agent_id not in (None, fold(agent_id)):
        return None
    return parsed.normalized


# Of the ledger's keys alone: what a caller sends is anything, and without end.
_remembered = lru_cache(_REMEMBERED_KEYS)(normalised)


def visible(asker: Asker, configured: Visibility, agent_id: str, families: Families) -> Visible:
    """The exports that a caller may see. Unsure means hidden.

    `agent` and `all` are the same, since no agent ever sees another one's conversations: every session of this agent
    sees all of them. A sandboxed caller sees no more than `tree`.
    """
    rule: Visibility = "tree" if asker.sandboxed and configured in ("agent", "all") else configured
    if asker.operator and not asker.sandboxed:
        return Visible(paths=None)
    if rule in ("agent", "all"):
        return _all_but(families.foreign, families, rule)
    own = normalised(agent_id, asker.session_key or "") or ""
    keys = {own}
    if rule == "tree":
        keys |= {*families.tree(own), *(normalised(agent_id, key) or "" for key in asker.named)}
    paths = frozenset[str]().union(*(families.exports.get(key, frozenset()) for key in keys))
    return Visible(paths=paths, hidden=families.total - len(paths), rule=rule)


def _all_but(foreign: frozenset[str], families: Families, rule: Visibility) -> Visible:
    if not foreign:
        return Visible(paths=None, rule=rule)
    paths = families.unowned.union(*families.exports.values())
    return Visible(paths=paths, hidden=len(foreign), rule=rule)
