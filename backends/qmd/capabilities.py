"""What each version of qmd can do, as far as it was tried.

Options that a version does not know it ignores silently, so trying them out would tell nothing: the version decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

Version = tuple[int, ...]

#: The newest version that was tried. Later ones are used like this one, and their resident proves itself.
NEWEST_TRIED: Version = (2, 8, 3)


class Dialect(StrEnum):
    """How a resident is asked: one `query` with typed searches, or one `search` for each word (before 1.1)."""

    TYPED = "typed"
    WORDS = "words"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What one version can do.

    `typed`: `query` on the command line takes `lex:` and `vec:` lines and `--no-rerank`. `dialect`: how its resident
    is asked; None where the resident would always load the reranker, and hang where that is not on the machine.
    `many_collections`: several `-c` are all honoured (before, the last one could win). `global_cut`: keyword
    candidates are cut over the whole index before the collection is looked at, so that large ones starve small ones.
    """

    typed: bool
    dialect: Dialect | None
    many_collections: bool
    global_cut: bool


_TABLE: tuple[tuple[Version, Capabilities], ...] = (
    ((2, 8, 3), Capabilities(typed=True, dialect=Dialect.TYPED, many_collections=True, global_cut=True)),
    ((2, 1), Capabilities(typed=True, dialect=Dialect.TYPED, many_collections=False, global_cut=True)),
    ((1, 1), Capabilities(typed=False, dialect=None, many_collections=False, global_cut=False)),
    ((), Capabilities(typed=False, dialect=Dialect.WORDS, many_collections=False, global_cut=False)),
)
#: A qmd that says no version is asked with care; what its resident can do is seen in its list of tools.
_UNKNOWN = Capabilities(typed=False, dialect=Dialect.TYPED, many_collections=False, global_cut=True)


def capabilities_of(version: Version) -> Capabilities:
    """The row of the table for a version; an empty one is unknown."""
    if not version:
        return _UNKNOWN
    return next(able for since, able in _TABLE if version >= since)
