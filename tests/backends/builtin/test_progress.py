"""How far a sync is, and what is told before much is sent to a provider elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from backends.base import BackendError, Failure, Notice, SyncReport
from backends.builtin import IndexJob, Report
from backends.builtin.embedding_pass import MANY_CHUNKS
from tests.backends.builtin.conftest import Desk, InProcessWriter, ToyEmbedder


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


class Elsewhere(ToyEmbedder):
    """A model that is not on this machine."""

    concurrency = 2


def many_notes(desk: Desk, count: int) -> None:
    for number in range(count):
        desk.write(f"memory/{number}.md", f"note {number} about boats\n")


def announced(desk: Desk) -> list[tuple[dict[str, Any], int]]:
    """What was told before the first text was sent of a sync, with how many had been sent by then."""
    model, told = desk.writer.embedder, []
    assert isinstance(model, ToyEmbedder)

    def heard(progress: dict[str, Any]) -> None:
        if progress["phase"] == "embedding_started":
            told.append((progress, len(model.texts)))

    desk.run(heard)
    return told


def test_a_large_need_is_told_before_a_provider_elsewhere_gets_anything(make_desk: Callable[..., Desk]) -> None:
    """Nobody is surprised by hours of work, or by a bill."""
    desk = make_desk(Elsewhere())
    many_notes(desk, MANY_CHUNKS + 1)
    ((told, sent),) = announced(desk)
    amount = {key: told[key] for key in ("provider", "model", "files", "chunks", "cached")}
    assert amount == {"provider": "static", "model": "toy", "files": 501, "chunks": 501, "cached": 0}
    assert told["tokens"] > 501
    assert sent == 0
    assert announced(desk) == [], "there is nothing left to embed"


def test_a_rebuild_is_told_once(make_desk: Callable[..., Desk]) -> None:
    """Although the files are gone through twice."""
    desk = make_desk(Elsewhere())
    many_notes(desk, MANY_CHUNKS + 1)
    desk.sync()
    desk.writer.embedder = Elsewhere("another")
    assert [told["model"] for told, _ in announced(desk)] == ["another"]


@pytest.mark.parametrize(("model", "count"), [(Elsewhere(), MANY_CHUNKS), (ToyEmbedder(), MANY_CHUNKS + 1)])
def test_a_small_need_and_a_model_of_ones_own_are_not_worth_a_word(
    make_desk: Callable[..., Desk], model: ToyEmbedder, count: int
) -> None:
    """A word too many is read by nobody."""
    desk = make_desk(model)
    many_notes(desk, count)
    assert announced(desk) == []


def test_what_the_cache_has_is_no_need(make_desk: Callable[..., Desk]) -> None:
    """Only what is sent counts."""
    desk = make_desk(Elsewhere())
    many_notes(desk, MANY_CHUNKS + 1)
    for model in (Elsewhere(), Elsewhere("another")):
        desk.writer.embedder = model
        desk.sync()
    desk.writer.embedder = Elsewhere()
    assert announced(desk) == []


def test_a_large_need_is_logged_and_stands_in_the_status_until_it_is_met(
    make_desk: Callable[..., Desk], caplog: pytest.LogCaptureFixture
) -> None:
    """One line, one notice, and figures in both."""
    desk = make_desk(Elsewhere())
    many_notes(desk, MANY_CHUNKS + 1)
    seen: list[tuple[Notice, ...]] = []

    class Watched(InProcessWriter):
        async def index(self, job: IndexJob, report: Report) -> SyncReport:
            def heard(progress: dict[str, Any]) -> None:
                report(progress)
                seen.append(desk.backend.status().notices)

            return await super().index(job, heard)

    desk.writer = Watched(desk.writer.embedder)
    desk.reopened()
    with caplog.at_level(logging.INFO):
        desk.sync()
    (notice,) = {notice for notices in seen for notice in notices}
    assert notice.code == "embedding_started"
    assert notice.message.startswith("501 chunks of 501 files, about ")
    assert "by static toy" in notice.message
    assert desk.backend.status().notices == ()
    (line,) = [record for record in caplog.records if record.message == "embedding started"]
    assert line.__dict__["fields"] | {"tokens": 0} == {
        "agent": "main",
        "provider": "static",
        "model": "toy",
        "files": 501,
        "chunks": 501,
        "tokens": 0,
        "cached": 0,
    }
