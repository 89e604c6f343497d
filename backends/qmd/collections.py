"""The collections of one agent's index: what they should be, what they are, and the step from one to the other.

We write `index.yml` ourselves, atomically, and leave alone everything in it that is not ours: a person may use
the same index with their own `qmd`. A root that is missing is not written, and qmd keeps the documents of
a collection that it is not told to update: a folder that is briefly gone empties nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from backends.corpus import Corpus, Root
from backends.files import write_atomically

#: Keys of `models` in index.yml; what stands there wins over the environment, so the environment is written there.
_MODELS = {"embed": "QMD_EMBED_MODEL", "rerank": "QMD_RERANK_MODEL", "generate": "QMD_GENERATE_MODEL"}


@dataclass(frozen=True, slots=True)
class Collection:
    """One folder as qmd knows it: an absolute path without links, and a glob below it."""

    name: str
    path: str
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """The collections that the corpus asks for, and the names of roots that are missing or unreadable now."""

    collections: tuple[Collection, ...]
    held: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names that may be searched."""
        return tuple(collection.name for collection in self.collections)

    def without(self, names: Container[str]) -> Desired:
        """The same without some collections."""
        return replace(self, collections=tuple(want for want in self.collections if want.name not in names))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The step from actual to desired, by name."""

    create: tuple[str, ...] = ()
    rebind: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


def desired(corpus: Corpus) -> Desired:
    """What the roots ask for now. Looks at the disk; not for the event loop."""
    present = [root for root in corpus.roots if _is_readable(root.path)]
    held = tuple(root.name for root in corpus.roots if root not in present)
    return Desired(collections=tuple(_collection(root) for root in present), held=held)


def plan(
    document: Mapping[str, Any], wanted: Desired, owned: Mapping[str, list[str]], keep: Iterable[str] = ()
) -> Plan:
    """Compare. A collection goes only when we wrote it, nobody changed it since, and no root stands for it now.

    `keep` are names that stand for a root although they are not its own.
    """
    actual = _actual(document)
    names = {*wanted.names, *keep}
    return Plan(
        create=tuple(want.name for want in wanted.collections if want.name not in actual),
        rebind=tuple(want.name for want in wanted.collections if want.name in actual and not _same(actual, want)),
        remove=tuple(name for name in actual if name not in names and _binding(actual[name]) == owned.get(name)),
    )


def older_names(document: Mapping[str, Any], wanted: Desired, agent_id: str) -> dict[str, str]:
    """Collections that an earlier naming made for the same roots: the name of the root by the older name.

    `memory-root-main` stands for `memory-root` of the agent `main` when path and pattern are the same, and only then:
    a name alone proves nothing.
    """
    actual = _actual(document)
    suffixes = {agent_id, agent_id.casefold(), re.sub(r"[^a-z0-9]+", "-", agent_id.casefold()).strip("-")}
    found = {}
    for want in wanted.collections:
        for name in sorted(f"{want.name}-{suffix}" for suffix in suffixes if suffix):
            if name in actual and name not in wanted.names and _binding(actual[name]) == [want.path, want.pattern]:
                found[name] = want.name
    return found


def without(document: Mapping[str, Any], names: Container[str]) -> dict[str, Any]:
    """The document without some collections."""
    return {**document, "collections": {name: entry for name, entry in _actual(document).items() if name not in names}}


def applied(document: Mapping[str, Any], wanted: Desired, step: Plan, environ: Mapping[str, str]) -> dict[str, Any]:
    """The document after the step; every entry and key that is not ours stays."""
    entries = {name: entry for name, entry in _actual(document).items() if name not in step.remove}
    for want in wanted.collections:
        entries[want.name] = {**entries.get(want.name, {}), "path": want.path, "pattern": want.pattern}
    result = {**document, "collections": entries}
    models = {key: environ[variable] for key, variable in _MODELS.items() if environ.get(variable)}
    if models:
        result["models"] = {**(document.get("models") or {}), **models}
    return result


def load(file: Path) -> dict[str, Any]:
    """Read `index.yml`; a missing one is empty. A damaged one is set aside as `index.yml.broken` and empty."""
    try:
        return parse(file)
    except FileNotFoundError:
        return {}
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        file.replace(file.with_name(f"{file.name}.broken"))
        return {}


def parse(file: Path) -> dict[str, Any]:
    """Read `index.yml` and touch nothing. Raises `OSError`, and for a damaged one what reading and YAML raise."""
    document = yaml.load(file.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506 - a SafeLoader
    return document if isinstance(document, dict) else {}


def store(file: Path, document: Mapping[str, Any]) -> None:
    """Write `index.yml` atomically. Raises `OSError`."""
    text = yaml.dump(dict(document), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**20)
    write_atomically(file, text.encode())


def bindings(wanted: Iterable[Collection]) -> dict[str, list[str]]:
    """Path and pattern by name, as the ledger remembers them."""
    return {want.name: [want.path, want.pattern] for want in wanted}


def mismatches(status: Mapping[str, Any], wanted: Desired) -> tuple[str, ...]:
    """Names that a running qmd reports otherwise than wanted, or not at all. Unreadable reports prove nothing."""
    reported = status.get("collections")
    if not isinstance(reported, list):
        return ()
    actual = {entry.get("name"): entry for entry in reported if isinstance(entry, dict)}
    return tuple(want.name for want in wanted.collections if want.name not in actual or not _same(actual, want))


def _collection(root: Root) -> Collection:
    # qmd cuts a mask at commas; `?` matches one too, and what else it matches is sifted by the corpus.
    pattern = re.sub(r"\\?,(?![^{\[]*[}\]])", "?", root.pattern())
    # Through a link qmd would find that every file lies outside its collection.
    return Collection(root.name, os.path.realpath(root.path), pattern)


def _is_readable(folder: Path) -> bool:
    try:
        with os.scandir(folder):
            return True
    except OSError:
        return False


def _actual(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    entries = document.get("collections")
    if not isinstance(entries, dict):
        return {}
    return {name: entry for name, entry in entries.items() if isinstance(name, str) and isinstance(entry, dict)}


def _binding(entry: Mapping[str, Any]) -> list[Any]:
    return [entry.get("path"), entry.get("pattern", "**/*.md")]


def _same(actual: Mapping[Any, Mapping[str, Any]], want: Collection) -> bool:
    return _binding(actual[want.name]) == [want.path, want.pattern]


class _Loader(yaml.SafeLoader):
    """Reads YAML 1.2 as qmd does: `on`, `no`, `12:30` and `2026-01-01` are text."""


class _Dumper(yaml.SafeDumper):
    """Quotes whatever either version of YAML would read as something else than text."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _form, _first in (
    ("tag:yaml.org,2002:bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("tag:yaml.org,2002:null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
    ("tag:yaml.org,2002:float", r"^[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
):
    _Loader.add_implicit_resolver(_tag, re.compile(_form), list(_first))
    _Dumper.add_implicit_resolver(_tag, re.compile(_form), list(_first))
