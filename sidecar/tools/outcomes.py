"""What a search came to, in one word."""

from __future__ import annotations

from enum import StrEnum

from backends.base import Answer


class Outcome(StrEnum):
    """What happened. `hits` says that something relevant was found, even where no limit lets any of it leave."""

    HITS = "hits"
    NO_MATCH = "no_match"
    PARTIAL = "partial"
    DENIED = "denied"
    DISABLED = "disabled"
    UNAVAILABLE = "unavailable"

    @classmethod
    def of(cls, answer: Answer) -> Outcome:
        """The outcome of a search that an engine answered."""
        if answer.partial:
            return cls.PARTIAL
        return cls.HITS if answer.hits else cls.NO_MATCH
