"""Which transcripts that are gone were deleted, and which are only not there: missing is no proof by itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from exporter.job import Failure
from exporter.session_store import SessionStore
from exporter.transcript import Listing, session_of

_NAMED: Final = Failure("", "transcripts_missing", "sessions.json still names transcripts that are not there")
_EMPTIED: Final = Failure("", "transcripts_emptied", "the folder has lost every transcript, and sessions.json")


@dataclass(slots=True)
class Gone:
    """Names of transcripts: those that were `deleted`, and those that are `kept`, with why."""

    deleted: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    failures: set[Failure] = field(default_factory=set)


def judge(known: Iterable[str], listing: Listing, store: SessionStore) -> Gone:
    """Judge every known transcript that a listing has no more.

    It was deleted when the gateway archived its session as deleted, or when its folder lists well and `sessions.json`
    names it no more. A folder that has lost everything at once, with `sessions.json`, was perhaps not mounted.
    """
    gone = Gone()
    present = {file.name for file in listing.files}
    emptied = not (present or listing.deleted or store.exists)
    for name in set(known) - present:
        why = None
        if session_of(name) not in listing.deleted:
            why = _NAMED if store.key_of(name) else _EMPTIED if emptied else None
        if why is None:
            gone.deleted.add(name)
        else:
            gone.kept.add(name)
            gone.failures.add(why)
    return gone
