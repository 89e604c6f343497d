"""From the file that a row names to a file of our corpus, and to no other.

Rows say `qmd://collection/path` or `collection/path`, some versions percent-encode, some add `?index=`,
and those before 2.6 squeeze names into slugs (`My Note_1.md` is `my-note-1.md`). A docid is never asked:
files of equal content share one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import unquote

from backends.base import Notice
from backends.corpus import Corpus, Located, Owners, Root, is_plain
from backends.qmd.output import Row


@dataclass(frozen=True, slots=True)
class Places:
    """Rows that are files of the corpus, each file once, in order; and how many rows named collections of others."""

    found: tuple[tuple[Row, Located], ...]
    unknown: int = 0
    outside: int = 0

    def notices(self) -> tuple[Notice, ...]:
        """What was left out, counted."""
        if not self.unknown:
            return ()
        message = f"{self.unknown} hit(s) dropped: they are in collections that are not this agent's."
        return (Notice("unknown_collection", message, "Look for other collections in this agent's index.yml."),)


def locate(rows: Iterable[Row], corpus: Corpus, aliases: Mapping[str, str] = MappingProxyType({})) -> Places:
    """Place every row; `aliases` are roots by older names of theirs. Looks at the disk; not for the event loop."""
    found: dict[str, tuple[Row, Located]] = {}
    slugs = _Slugs()
    owners = Owners(corpus)
    unknown = outside = 0
    for row in rows:
        read = ((corpus.root(aliases.get(name, name)), path) for name, path in readings(row.file))
        named = [(root, path) for root, path in read if root is not None]
        if not named:
            unknown += 1
            continue
        literal = next((place for root, path in named if (place := _present(root, path)) is not None), None)
        places = [literal] if literal else slugs.places(*named[0])
        outside += not places
        for place in places:
            first = owners.of(place)
            found.setdefault(first.path, (row, first))
    return Places(tuple(found.values()), unknown, outside)


def readings(file: str) -> Iterator[tuple[str, str]]:
    """Every (collection, path) that `file` can mean, the literal one first."""
    bare = file.removeprefix("qmd://").lstrip("/")
    for text in dict.fromkeys((bare, bare.partition("?")[0], unquote(bare), unquote(bare.partition("?")[0]))):
        name, slash, relative = text.partition("/")
        if slash and name and relative:
            yield name, relative


def _present(root: Root, relative: str) -> Located | None:
    if not is_plain(relative) or not root.holds(relative):
        return None
    place = Located(root, relative)
    return place if os.path.lexists(place.file) else None


class _Slugs:
    """Files by what a slug keeps of their names. Several may share one: all are read, and their text decides."""

    def __init__(self) -> None:
        self._files: dict[str, dict[str, list[str]]] = {}

    def places(self, root: Root, relative: str) -> list[Located]:
        if root.name not in self._files:
            files: dict[str, list[str]] = {}
            self._files[root.name] = files
            for found in root.files():
                files.setdefault(_kept(found.relative), []).append(found.relative)
        return [Located(root, file) for file in self._files[root.name].get(_kept(relative), [])]


def _kept(relative: str) -> str:
    return "".join(character for character in relative.casefold() if character.isalnum() or character == "/")
