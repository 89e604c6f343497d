"""The worker process: started on first use, survived when it dies, retired when idle."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from backends.base import BackendError, Failure
from backends.builtin import BuiltinOptions, EmbeddingSpec, IndexJob
from backends.corpus import Corpus, Kind, Root
from exporter import ExportJob
from sidecar.worker.process import Worker

STATIC = EmbeddingSpec(provider="auto", model=None)


@asynccontextmanager
async def worker(**options: float) -> AsyncIterator[Worker]:
    """A worker that is closed at the end, with no process left."""
    worker = Worker(**options)  # type: ignore[arg-type]
    try:
        yield worker
    finally:
        await worker.close()
        assert worker.status()["state"] == "stopped"


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    """Run a scenario with a deadline."""

    async def limited() -> None:
        async with asyncio.timeout(60):
            await scenario()

    asyncio.run(limited())


def job(folder: Path, **options: bool) -> IndexJob:
    """An index of the notes in `folder/notes`."""
    root = Root(name="memory-dir", kind=Kind.DAILY, path=folder / "notes", patterns=("**/*.md",), shown="memory/")
    return IndexJob(
        corpus=Corpus("main", folder, (root,)),
        options=BuiltinOptions(index=folder / "index.sqlite", embedding=STATIC),
        force=options.get("force", False),
        embed=True,
    )


def notes(folder: Path, count: int) -> None:
    """Write some notes."""
    (folder / "notes").mkdir(exist_ok=True)
    for number in range(count):
        (folder / "notes" / f"{number}.md").write_text(f"note {number} about boats\n" * 30, encoding="utf-8")


def test_a_job_and_a_query_are_answered_by_one_process(tmp_path: Path) -> None:
    """Both kinds of work, one child."""

    async def scenario() -> None:
        notes(tmp_path, 3)
        async with worker() as its:
            assert its.status()["state"] == "stopped", "nothing is started before it is needed"
            report = await its.index(job(tmp_path))
            assert (report.engine, report.changed, report.embedded > 0) == ("builtin", 3, True)
            pid = its.status()["pid"]
            vector = await its.embed_query(STATIC, "boats")
            assert vector is not None
            assert (len(vector.data), vector.identity.dims) == (256 * 4, 256)
            assert its.status()["pid"] == pid

    run(scenario)


def test_a_job_tells_how_far_it_is(tmp_path: Path) -> None:
    """Files first, then vectors, each up to its total."""

    async def scenario() -> None:
        notes(tmp_path, 300)
        heard: list[dict[str, Any]] = []
        async with worker() as its:
            await its.index(job(tmp_path), heard.append)
        last = {told["phase"]: told for told in heard}
        assert [last["files"], last["vectors"]] == [
            {"phase": "files", "done": 300, "total": 300},
            {"phase": "vectors", "done": 300, "total": 300},
        ]

    run(scenario)


def test_a_query_does_not_wait_for_an_index_job(tmp_path: Path) -> None:
    """A search must never wait for a sync."""

    async def scenario() -> None:
        notes(tmp_path, 1500)
        async with worker() as its:
            await its.embed_query(STATIC, "warm up")
            indexing = asyncio.create_task(its.index(job(tmp_path)))
            while its.status()["calls"] == 0:
                await asyncio.sleep(0)
            assert await its.embed_query(STATIC, "boats") is not None
            assert not indexing.done()
            assert (await indexing).changed == 1500

    run(scenario)


def test_a_killed_worker_fails_its_calls_and_is_started_again(tmp_path: Path) -> None:
    """The calls know why; the next one works after a pause."""

    async def scenario() -> None:
        notes(tmp_path, 1500)
        async with worker() as its:
            await its.embed_query(STATIC, "warm up")
            indexing = asyncio.create_task(its.index(job(tmp_path)))
            while its.status()["calls"] == 0:
                await asyncio.sleep(0)
            os.kill(its.status()["pid"], signal.SIGKILL)
            with pytest.raises(BackendError) as caught:
                await indexing
            assert caught.value.failure is Failure.EXITED
            while True:
                try:
                    report = await its.index(job(tmp_path))
                    break
                except BackendError:
                    await asyncio.sleep(0.05)
            assert report.changed + report.unchanged == 1500

    run(scenario)


def test_a_worker_that_falls_silent_is_ended(tmp_path: Path) -> None:
    """Stopped by a signal, it does not hold its callers for ever."""

    async def scenario() -> None:
        # Longer than the slowest machine needs to load the model, which is silence, too.
        async with worker(silence_s=8.0) as its:
            await its.embed_query(STATIC, "warm up")
            pid = its.status()["pid"]
            os.kill(pid, signal.SIGSTOP)
            with pytest.raises(BackendError) as caught:
                await its.embed_query(STATIC, "boats")
            assert caught.value.failure is Failure.TIMEOUT
            while psutil.pid_exists(pid):
                await asyncio.sleep(0.01)

    run(scenario)


def test_an_idle_worker_is_retired_and_comes_back(tmp_path: Path) -> None:
    """Its memory goes back to the machine."""

    async def scenario() -> None:
        async with worker(idle_s=0.0) as its:
            await its.embed_query(STATIC, "boats")
            await its.tend()
            assert its.status()["state"] == "stopped"
            assert await its.embed_query(STATIC, "boats") is not None

    run(scenario)


def test_an_overgrown_worker_is_retired(tmp_path: Path) -> None:
    """After the call, not in the middle of it."""

    async def scenario() -> None:
        async with worker(max_rss_bytes=1) as its:
            await its.embed_query(STATIC, "boats")
            await its.tend()
            assert its.status()["state"] == "stopped"

    run(scenario)


def test_a_model_that_is_gone_is_told_with_the_next_step(tmp_path: Path) -> None:
    """An index may have been built by a provider that was removed: its questions go on by words."""

    async def scenario() -> None:
        async with worker() as its:
            with pytest.raises(BackendError) as gone:
                await its.embed_query(EmbeddingSpec(provider="bygone", model="m"), "boats")
            assert (gone.value.failure, gone.value.code) == (Failure.EMBEDDING, "unknown_provider")
            assert "bygone" in gone.value.message
            assert gone.value.hint

    run(scenario)


def test_a_failed_job_tells_its_class_and_no_text(tmp_path: Path) -> None:
    """An exception may quote what it read."""

    async def scenario() -> None:
        (tmp_path / "notes").mkdir()
        (tmp_path / "index.sqlite").mkdir()
        async with worker() as its:
            with pytest.raises(BackendError):
                await its.index(job(tmp_path))

    run(scenario)


def test_transcripts_are_exported_by_the_worker(tmp_path: Path) -> None:
    """Redaction and rendering are CPU-bound, too."""
    (tmp_path / "transcripts").mkdir()

    async def scenario() -> None:
        async with worker() as its:
            wanted = ExportJob(
                transcripts=str(tmp_path / "transcripts"),
                export_folder=str(tmp_path / "exports"),
                ledger=str(tmp_path / "exports.sqlite"),
            )
            assert (await its.export(wanted))["written"] == 0

    run(scenario)
