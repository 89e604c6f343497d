"""Which collections are asked together: what is asked apart cannot be starved by what is larger."""

from __future__ import annotations

from backends.base import Source
from backends.corpus import Corpus, Kind
from backends.qmd.ledger import Ledger

#: qmd cuts its list of candidates at 200 files. A word that stands in no more passages than this starves nothing.
SAFE_FREQUENCY = 180
#: Every collection that is asked by itself costs a search for each word.
_MOST_EXTRAS_APART = 4

Group = tuple[str, ...]


def rooms_of(corpus: Corpus, ledger: Ledger, sources: frozenset[Source], *, apart: bool) -> tuple[Group, ...]:
    """Our collections that may be searched: notes, extra folders and sessions apart; with `apart`, each by itself."""
    notes = _names(corpus, ledger, Kind.CURATED, Kind.DAILY) if Source.MEMORY in sources else ()
    extras = _names(corpus, ledger, Kind.EXTRA) if Source.MEMORY in sources else ()
    sessions = _names(corpus, ledger, Kind.SESSION) if Source.SESSIONS in sources else ()
    if not apart:
        return tuple(group for group in (notes, extras, sessions) if group)
    few = len(extras) <= _MOST_EXTRAS_APART
    rooms = [*((name,) for name in notes), *(((name,) for name in extras) if few else (extras,)), sessions]
    return tuple(group for group in rooms if group)


def _names(corpus: Corpus, ledger: Ledger, *kinds: Kind) -> Group:
    """The collections of the roots of these kinds, and the older ones that still stand for them."""
    roots = [root.name for root in corpus.roots if root.kind in kinds and root.name in ledger.owned]
    return (*roots, *(older for older, name in ledger.aliases.items() if name in roots))
