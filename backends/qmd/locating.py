"""From the file that a row names to a file of our corpus, and to no other.

Rows say `qmd://collection/path` or `collection/path`, some versions percent-encode, some add `?index=`.
A docid is never asked: files of equal content share one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from backends.base import Notice
from backends.corpus import Corpus, Located, is_plain
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


def locate(rows: Iterable[Row], corpus: Corpus) -> Places:
    """Place every row. Looks at the disk; not for the event loop."""
    found: dict[Located, Row] = {}
    unknown = outside = 0
    for row in rows:
        located = [_located(name, relative, corpus) for name, relative in readings(row.file)]
        if all(corpus.root(name) is None for name, _ in readings(row.file)):
            unknown += 1
        elif place := _present(place for place in located if place is not None):
            found.setdefault(_first_root(place, corpus), row)
        else:
            outside += 1
    return Places(tuple((row, place) for place, row in found.items()), unknown, outside)


def readings(file: str) -> Iterator[tuple[str, str]]:
    """Every (collection, path) that `file` can mean, the literal one first."""
    bare = file.removeprefix("qmd://").lstrip("/")
    for text in dict.fromkeys((bare, bare.partition("?")[0], unquote(bare), unquote(bare.partition("?")[0]))):
        name, slash, relative = text.partition("/")
        if slash and name and relative:
            yield name, relative


def _located(name: str, relative: str, corpus: Corpus) -> Located | None:
    root = corpus.root(name)
    if root is None or not is_plain(relative) or not root.holds(relative):
        return None
    return Located(root, relative)


def _present(places: Iterable[Located]) -> Located | None:
    return next((place for place in places if os.path.lexists(place.file)), None)


def _first_root(place: Located, corpus: Corpus) -> Located:
    """The same file under the first root that covers it: nested roots must not show one file twice."""
    file = os.path.join(os.path.realpath(place.root.path), place.relative)  # noqa: PTH118 - textual on purpose
    for root in corpus.roots:
        if root is place.root:
            return place
        base = os.path.realpath(root.path) + os.sep
        if file.startswith(base) and root.holds(file[len(base) :]):
            return Located(root, file[len(base) :])
    return place
