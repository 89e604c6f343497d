"""The files that make up a configuration: the main one and what it includes, as one tree.

`$include` takes a file or a list of files, relative to the file that names them: objects merge,
lists join, later values win, and keys beside `$include` win over what it brings. Every value
remembers the file and the key that it came from.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from sidecar.config import json5
from sidecar.config.errors import ConfigError, Finding, Severity
from sidecar.config.files import read_text
from sidecar.config.json5 import KeyPath

INCLUDE: Final = "$include"
MAX_INCLUDES: Final = 10
MAX_BYTES: Final = 2 * 1024 * 1024


def dotted(path: KeyPath) -> str:
    """A key path as people write it: `agents.list[0].workspace`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


@dataclass(frozen=True)
class Document:
    """One file, read and decoded."""

    path: Path
    text: str
    value: Any

    @cached_property
    def lines(self) -> dict[KeyPath, int]:
        """The line of every key. Worked out on first use: only remarks and `--origin` need it."""
        return json5.lines(self.text)

    def line(self, path: KeyPath) -> int:
        """The line of a key, or of the nearest key around it that stands in the file."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)


@dataclass(frozen=True, slots=True)
class Tree:
    """The merged values of all files, and where each came from."""

    value: dict[str, Any]
    places: dict[KeyPath, tuple[Document, KeyPath]] = field(default_factory=dict)
    main: Path | None = None

    def get(self, path: KeyPath) -> Any:
        """The value at a key path; None when there is none."""
        value: Any = self.value
        for step in path:
            if isinstance(value, dict):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return None
        return value

    def written(self, path: KeyPath) -> tuple[str, int] | None:
        """File and line of a key, if a file holds exactly this key."""
        place = self.places.get(path)
        return None if place is None else (str(place[0].path), place[0].line(place[1]))

    def near(self, path: KeyPath) -> tuple[str | None, int | None]:
        """File and line of a key, or of the nearest key around it."""
        while path not in self.places and path:
            path = path[:-1]
        return self.written(path) or (str(self.main) if self.main else None, None)

    def finding(
        self, path: KeyPath, code: str, message: str, hint: str = "", *, severity: Severity = Severity.ERROR
    ) -> Finding:
        """A remark about a key, with its file and line."""
        file, line = self.near(path)
        return Finding(severity=severity, code=code, key=dotted(path), message=message, hint=hint, file=file, line=line)


def read(path: Path | None, sections: frozenset[str]) -> Tree:
    """Read a configuration with its includes; of the top level only `sections` are kept.

    What other sections include is never opened: it is not ours. No path is an empty tree. Raises `ConfigError`.
    """
    if path is None:
        return Tree({})
    merger = _Merger(sections)
    document = _open(path, key=())
    value = merger.absorb(None, document.value, document, (), (), chain=(_real(path),))
    if not isinstance(value, dict):
        raise _error(path, (), 1, "not_an_object", "the configuration must be an object", "start the file with {")
    return Tree(value, merger.places, path)


class _Merger:
    """Builds one tree out of many documents."""

    def __init__(self, sections: frozenset[str]) -> None:
        self.sections = sections
        self.places: dict[KeyPath, tuple[Document, KeyPath]] = {}

    def absorb(
        self, known: Any, new: Any, document: Document, local: KeyPath, at: KeyPath, chain: tuple[Path, ...]
    ) -> Any:
        """Merge `new`, which stands at `local` of `document`, over `known` at the place `at` of the tree."""
        self.places[at] = (document, local)
        if isinstance(new, list):
            return self._join(known if isinstance(known, list) else [], new, document, local, at, chain)
        if not isinstance(new, dict):
            return new
        rest = {key: value for key, value in new.items() if key != INCLUDE and (at or key in self.sections)}
        merged = known
        for index, name in enumerate(self._included(new, document, local)):
            merged = self._include(merged, name, document, (*local, INCLUDE), at, chain)
            if index == 0 and rest and not isinstance(merged, dict):
                raise self._include_error(document, local, "keys stand beside an include that is not an object")
        if INCLUDE in new and not rest:
            return merged
        result = dict(merged) if isinstance(merged, dict) else {}
        for key, value in rest.items():
            result[key] = self.absorb(result.get(key), value, document, (*local, key), (*at, key), chain)
        return result

    def _join(
        self, known: list[Any], new: list[Any], document: Document, local: KeyPath, at: KeyPath, chain: tuple[Path, ...]
    ) -> list[Any]:
        start = len(known)
        return known + [
            self.absorb(None, item, document, (*local, index), (*at, start + index), chain)
            for index, item in enumerate(new)
        ]

    def _included(self, value: dict[str, Any], document: Document, local: KeyPath) -> list[str]:
        named = value.get(INCLUDE, [])
        names = [named] if isinstance(named, str) else named
        if not isinstance(names, list) or not all(
            isinstance(name, str) and name and "\0" not in name for name in names
        ):
            raise self._include_error(document, local, "$include takes a file name or a list of file names")
        return names

    def _include(
        self, known: Any, name: str, document: Document, local: KeyPath, at: KeyPath, chain: tuple[Path, ...]
    ) -> Any:
        path = document.path.parent / name
        real = _real(path)
        if real in chain:
            raise self._include_error(document, local, f"{name} includes itself, directly or through another file")
        if len(chain) > MAX_INCLUDES:
            raise self._include_error(document, local, f"includes nest deeper than {MAX_INCLUDES}")
        included = _open(path, key=local, named_by=document)
        return self.absorb(known, included.value, included, (), at, (*chain, real))

    def _include_error(self, document: Document, local: KeyPath, message: str) -> ConfigError:
        line = document.line((*local, INCLUDE))
        return _error(document.path, local, line, "bad_include", message, "check the $include on this line")


def _real(path: Path) -> Path:
    # `Path.resolve` raises for a link that leads to itself; opening it tells more.
    return Path(os.path.realpath(path))


def _open(path: Path, *, key: KeyPath, named_by: Document | None = None) -> Document:
    """Read and decode one file. A failure is reported where the file is named."""
    try:
        text = read_text(path, max_bytes=MAX_BYTES)
    except OSError as error:
        place = named_by.path if named_by else path
        line = named_by.line(key) if named_by else None
        reason = os.strerror(error.errno) if error.errno else str(error)
        message = f"cannot read {path}: {reason}"
        raise _error(place, key, line, "unreadable", message, "check the path and its permissions") from error
    except UnicodeDecodeError as error:
        raise _error(path, (), None, "not_utf8", "the file is not UTF-8", "save it as UTF-8") from error
    try:
        return Document(path, text, json5.decode(text))
    except json5.Json5Error as error:
        hint = "look for a missing comma, quote or bracket on this line or just above"
        raise _error(path, (), error.line, "bad_json5", str(error), hint) from error


def _error(path: Path, key: KeyPath, line: int | None, code: str, message: str, hint: str) -> ConfigError:
    finding = Finding(
        severity=Severity.ERROR, code=code, key=dotted(key), message=message, hint=hint, file=str(path), line=line
    )
    return ConfigError([finding])
