"""Files of a root that qmd leaves out without a word: in hidden and build folders, hidden themselves, or links."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from backends.corpus import IGNORED_FOLDERS, Corpus, Root
from backends.patterns import is_literal, matcher

#: Entries that are looked at in ignored folders of one corpus: `node_modules` may hold a hundred thousand.
_MOST_LOOKED_AT = 2_000
_SAMPLE = 5


@dataclass(frozen=True, slots=True)
class Ignored:
    """How many there are (`more`: at least so many), and the shown paths of the first few."""

    files: int = 0
    sample: tuple[str, ...] = ()
    more: bool = False


def ignored(corpus: Corpus) -> Ignored:
    """Look for files that a root's pattern means and a rule leaves out. Looks at the disk; not for the event loop."""
    budget = _Budget()
    roots = [root for root in corpus.roots if not is_literal(root.pattern())]
    found = [root.shown + path for root in roots for path in _left_out(root, budget)]
    return Ignored(len(found), tuple(found[:_SAMPLE]), more=budget.left <= 0)


class _Budget:
    def __init__(self) -> None:
        self.left = _MOST_LOOKED_AT


def _left_out(root: Root, budget: _Budget) -> Iterator[str]:
    matches = matcher(root.pattern())
    stack = [("", False)]
    while stack and budget.left > 0:
        folder, out = stack.pop()
        for entry in _entries(root, folder):
            budget.left -= out
            relative = f"{folder}/{entry.name}" if folder else entry.name
            ruled = out or entry.name.startswith(".") or entry.name in IGNORED_FOLDERS
            if entry.is_dir(follow_symlinks=False):
                # Version control keeps no memory, and much else.
                if entry.name != ".git":
                    stack.append((relative, ruled))
            elif (ruled or entry.is_symlink()) and matches(relative):
                yield relative


def _entries(root: Root, folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(root.path / folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
