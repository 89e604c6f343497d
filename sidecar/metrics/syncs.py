"""What the syncs of one agent came to."""

from __future__ import annotations

from collections import Counter

from backends.base import BackendError, SyncReport


class SyncTally:
    """Counts by engine and result, and vectors by where they came from.

    A result is `changed`, `nothing` where there was nothing to do, or the class of a failure.
    """

    def __init__(self) -> None:
        self.results: Counter[tuple[str, str]] = Counter()
        self.vectors: Counter[str] = Counter()

    def went_well(self, engine: str, report: SyncReport) -> None:
        """A sync came to its end."""
        self.results[engine, "changed" if report.ran else "nothing"] += 1
        self.vectors["cache"] += report.cached
        self.vectors["model"] += report.embedded - report.cached

    def failed(self, engine: str, error: BackendError) -> None:
        """A sync ended with an error."""
        self.results[engine, str(error.failure)] += 1
