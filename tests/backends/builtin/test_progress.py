"""How far a sync is, as its status tells."""

from __future__ import annotations

from typing import Any

import pytest

from backends.base import BackendError, Failure, SyncReport
from backends.builtin import IndexJob, Report
from tests.backends.builtin.conftest import Desk, InProcessWriter


def progress_of(desk: Desk) -> dict[str, Any] | None:
    told: dict[str, Any] | None = desk.backend.status().detail.get("progress")
    return told


def test_the_status_counts_along_while_a_sync_runs(semantic: Desk) -> None:
    """Files, then vectors; afterwards there is nothing to count."""
    for number in range(5):
        semantic.write(f"memory/{number}.md", f"note {number} about boats\n")
    seen: list[dict[str, Any] | None] = []

    class Watched(InProcessWriter):
        async def index(self, job: IndexJob, report: Report) -> SyncReport:
            def heard(progress: dict[str, Any]) -> None:
                report(progress)
                seen.append(progress_of(semantic))

            return await super().index(job, heard)

    semantic.writer = Watched(semantic.writer.embedder)
    semantic.reopened()
    semantic.sync()
    assert {"phase": "files", "done": 5, "total": 5} in seen
    assert {"phase": "vectors", "done": 5, "total": 5} in seen
    assert progress_of(semantic) is None


def test_a_sync_that_failed_counts_no_further(semantic: Desk) -> None:
    """What is not under way any more must not look as if it were."""

    class Failing(InProcessWriter):
        async def index(self, job: IndexJob, report: Report) -> SyncReport:
            report({"phase": "files", "done": 1, "total": 5})
            assert progress_of(semantic)
            raise BackendError(Failure.EXITED, "the worker died")

    semantic.writer = Failing(None)
    semantic.reopened()
    with pytest.raises(BackendError):
        semantic.sync()
    assert progress_of(semantic) is None
