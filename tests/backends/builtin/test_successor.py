"""An index whose notes are to be cut or embedded in another way: it answers until its successor is whole."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from backends.base import BackendError, Failure
from backends.builtin import EmbeddingSpec, run_index_job
from backends.builtin.reader import Lease, Reader
from backends.builtin.successor import successor_of
from backends.embedding import Embedder, EmbeddingUnavailableError
from tests.backends.builtin.conftest import Desk, ToyEmbedder

#: Enough for three batches of vectors.
NOTES = 300


class Killed(BaseException):
    """The end of a job at a moment of its own choosing; nothing in it may stop that."""


def fill(desk: Desk, count: int = 6) -> None:
    for number in range(count):
        desk.write(f"memory/{number}.md", f"my car number {number} is red\n")


def answering(desk: Desk, model: str) -> bool:
    """Whether a search finds notes and compares its question with vectors of that model."""
    answer = desk.answer("car", min_score=0.05)
    return bool(answer.hits) and (answer.provider, answer.model, answer.partial) == ("static", model, False)


def inner_files(desk: Desk) -> list[str]:
    return sorted(file.name for file in desk.index.parent.iterdir() if not file.name.endswith(("-wal", "-shm")))


def test_the_old_index_answers_by_meaning_until_the_new_one_is_whole(semantic: Desk) -> None:
    """Questions are embedded by the model that the answering index was built with."""
    fill(semantic)
    semantic.sync()
    old = semantic.writer.embedder
    assert old is not None
    semantic.writer.others["toy"] = old
    semantic.writer.embedder = ToyEmbedder("other", 32)
    seen: list[bool] = []
    report = semantic.run(lambda progress: seen.append(answering(semantic, "toy")))
    assert report.detail == "index_replaced"
    assert seen
    assert all(seen)
    assert answering(semantic, "other")
    assert semantic.sync().ran is False


def test_without_its_model_the_old_index_answers_by_words(semantic: Desk) -> None:
    """Vectors of two models are never compared, not even of one dimension; the answer says that a leg is missing."""
    fill(semantic)
    semantic.sync()
    semantic.writer.embedder = ToyEmbedder("other", 64)
    answer = semantic.answer("automobile number 3", min_score=0.0)
    assert answer.hits[0].path == "memory/3.md"
    assert {hit.vector_score for hit in answer.hits} == {None}
    assert answer.partial
    assert [notice.code for notice in answer.notices] == ["semantic_unfinished"]
    semantic.sync()
    assert answering(semantic, "other")


@pytest.mark.parametrize("change", [{"chunk_tokens": 100}, {"chunk_overlap": 3}])
def test_another_cut_embeds_only_what_became_another_text(semantic: Desk, change: dict[str, int]) -> None:
    """Vectors are carried over by the hash of their text, also those that the cache had let go."""
    semantic.reopened(cache_entries=2)
    fill(semantic)
    semantic.sync()
    embedder = semantic.writer.embedder
    assert isinstance(embedder, ToyEmbedder)
    embedder.texts.clear()
    semantic.reopened(cache_entries=2, **change)
    assert semantic.sync().detail == "index_replaced"
    assert embedder.texts == []
    assert semantic.backend.status().detail["vectors"] == 6


def test_a_killed_build_goes_on_where_it_was(semantic: Desk) -> None:
    """No more than the batch at hand is embedded again."""
    fill(semantic, NOTES)
    semantic.sync()
    semantic.writer.embedder = fresh = ToyEmbedder("other", 32)

    def kill(progress: dict[str, Any]) -> None:
        if progress["phase"] == "vectors" and progress["done"] >= 256:
            raise Killed

    with pytest.raises(Killed):
        semantic.run(kill)
    assert successor_of(semantic.index).exists()
    assert len(fresh.texts) == 256
    fresh.texts.clear()
    assert semantic.run().embedded == NOTES - 256
    assert answering(semantic, "other")
    assert inner_files(semantic) == ["main.sqlite", "main.sqlite.lock", "main.sqlite.owner"]


def test_a_half_built_index_of_yesterdays_wish_is_begun_anew(semantic: Desk) -> None:
    """It holds vectors of a model that nobody wants any more."""
    fill(semantic)
    semantic.sync()

    def kill(progress: dict[str, Any]) -> None:
        raise Killed

    semantic.writer.embedder = ToyEmbedder("second", 32)
    with pytest.raises(Killed):
        semantic.run(kill)
    semantic.writer.embedder = ToyEmbedder("third", 16)
    assert semantic.run().embedded == 6
    assert answering(semantic, "third")
    assert semantic.backend.status().detail["dims"] == 16


def test_a_wish_that_is_taken_back_leaves_nothing(semantic: Desk) -> None:
    """With the old model configured again there is nothing to build, and the half of it goes."""
    fill(semantic)
    semantic.sync()
    old, semantic.writer.embedder = semantic.writer.embedder, ToyEmbedder("other", 32)

    def kill(progress: dict[str, Any]) -> None:
        raise Killed

    with pytest.raises(Killed):
        semantic.run(kill)
    semantic.writer.embedder = old
    semantic.sync()
    assert inner_files(semantic) == ["main.sqlite", "main.sqlite.lock", "main.sqlite.owner"]
    assert answering(semantic, "toy")


def unavailable(spec: EmbeddingSpec) -> Embedder:
    raise EmbeddingUnavailableError("provider_down", "The provider is down.", hint="Wait.")


@pytest.mark.parametrize("change", [{}, {"chunk_tokens": 50}])
def test_a_model_that_is_unavailable_costs_no_vector(semantic: Desk, change: dict[str, int]) -> None:
    """The identity and all vectors stay, whatever else is to change; new notes are found by their words."""
    fill(semantic)
    semantic.sync()
    embedder = semantic.writer.embedder
    assert isinstance(embedder, ToyEmbedder)
    semantic.reopened(**change)
    semantic.write("memory/new.md", "zebracomet\n")
    report = run_index_job(semantic.job, embedder_for=unavailable)
    assert report.detail == "provider_down"
    assert semantic.paths("zebracomet")[0] == "memory/new.md"
    assert answering(semantic, "toy")
    embedder.texts.clear()
    semantic.sync()
    assert semantic.backend.status().detail["vectors"] == 7
    assert [text.strip() for text in embedder.texts] == ["zebracomet"]


def test_a_model_that_goes_away_midway_leaves_the_old_index(semantic: Desk) -> None:
    """What was embedded until then is kept for the next sync."""
    fill(semantic, NOTES)
    semantic.sync()
    old = semantic.writer.embedder
    assert old is not None
    semantic.writer.others["toy"] = old

    class Leaving(ToyEmbedder):
        def embed(self, texts: Any) -> Any:
            if len(self.texts) >= 256:
                raise EmbeddingUnavailableError("provider_down", "The provider is down.", hint="Wait.")
            return super().embed(texts)

        def embed_query(self, text: str) -> Any:
            return ToyEmbedder("other", 32).embed_query(text)

    semantic.writer.embedder = leaving = Leaving("other", 32)
    assert semantic.sync().detail == "provider_down"
    assert answering(semantic, "toy")
    assert [notice.code for notice in semantic.backend.status().notices] == ["provider_down"]
    leaving.texts.clear()
    assert semantic.sync().embedded == NOTES - 256
    assert semantic.backend.status().detail["model"] == "other"


def test_a_first_model_fills_the_index_in_place(make_desk: Callable[..., Desk]) -> None:
    """There are no vectors to go on with, and the words are there already."""
    desk = make_desk(None, embedding=EmbeddingSpec())
    fill(desk)
    desk.sync()
    desk.writer.embedder = ToyEmbedder()
    beside: list[bool] = []
    desk.run(lambda progress: beside.append(successor_of(desk.index).exists()))
    assert beside == [False]
    assert desk.sync().ran is False
    assert answering(desk, "toy")


def test_what_is_written_during_a_build_is_found_before_and_after_it(semantic: Desk) -> None:
    """The index that answers takes it up, and so does the successor before the exchange."""
    fill(semantic)
    semantic.sync()
    semantic.writer.embedder = ToyEmbedder("other", 32)
    found: list[list[str]] = []

    def write(progress: dict[str, Any]) -> None:
        found.append(semantic.paths("zebracomet"))
        if progress["phase"] == "vectors" and not (semantic.workspace / "memory/new.md").exists():
            semantic.write("memory/new.md", "zebracomet\n")

    semantic.run(write, refresh_s=0.0)
    assert found[0] == []
    assert found[-1] == ["memory/new.md"]
    assert semantic.paths("zebracomet") == ["memory/new.md"]
    assert asyncio.run(semantic.backend.scan()).files == 0
    assert semantic.backend.status().detail["vectors"] == 7


def test_a_lease_sees_one_index_through_an_exchange(semantic: Desk) -> None:
    """Rows, facts and vectors of a search that is under way are of the old file; the next search reads the new one."""
    fill(semantic)
    semantic.sync()
    semantic.writer.embedder = ToyEmbedder("other", 32)
    reader, held = Reader(semantic.index), ExitStack()
    leases: list[Lease] = []

    def hold(progress: dict[str, Any]) -> None:
        if not leases:
            leases.append(held.enter_context(reader.lease(time.monotonic() + 60)))

    with held:
        assert semantic.run(hold).detail == "index_replaced"
        (lease,) = leases
        assert models(lease) == ({"toy"}, "toy")
    with reader.lease(time.monotonic() + 60) as lease:
        assert models(lease) == ({"other"}, "other")
    reader.close()


def models(lease: Lease) -> tuple[set[str], str]:
    """Whose vectors a lease sees, and whose the facts say they are."""
    assert lease.facts.embedding is not None
    return {model for (model,) in lease.connection.execute("SELECT model FROM chunks")}, lease.facts.embedding["model"]


def test_what_another_reader_holds_back_is_exchanged_the_next_time(semantic: Desk) -> None:
    """A log that is not in the file must not be lost: the successor waits, whole, and nothing is embedded again."""
    fill(semantic)
    semantic.sync()
    semantic.writer.embedder = fresh = ToyEmbedder("other", 32)
    with closing(apsw.Connection(str(semantic.index))) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM files").fetchall()
        semantic.write("memory/new.md", "zebracomet\n")
        with pytest.raises(BackendError) as held:
            semantic.run()
    assert held.value.failure is Failure.LOCKED
    fresh.texts.clear()
    semantic.run()
    assert not any("my car" in text for text in fresh.texts)
    assert semantic.paths("zebracomet") == ["memory/new.md"]
    assert answering(semantic, "other")


def test_an_index_that_is_deleted_during_a_build_is_replaced_all_the_same(semantic: Desk) -> None:
    """There is nothing left to exchange, and the successor is whole."""
    fill(semantic)
    semantic.sync()
    semantic.writer.embedder = ToyEmbedder("other", 32)

    def delete(progress: dict[str, Any]) -> None:
        if progress["phase"] == "vectors":
            semantic.index.unlink(missing_ok=True)

    assert semantic.run(delete).detail == "index_replaced"
    assert answering(semantic, "other")
    assert inner_files(semantic) == ["main.sqlite", "main.sqlite.lock", "main.sqlite.owner"]


def test_an_exchange_that_was_begun_is_finished_whatever_is_wanted_by_then(semantic: Desk) -> None:
    """A kill may have taken the log away under readers of the old file: nobody may write into that file again."""
    fill(semantic)
    semantic.sync()
    old, semantic.writer.embedder = semantic.writer.embedder, ToyEmbedder("other", 32)
    with closing(apsw.Connection(str(semantic.index))) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM files").fetchall()
        semantic.write("memory/new.md", "zebracomet\n")
        with pytest.raises(BackendError):
            semantic.run()
    before = semantic.index.stat().st_ino
    semantic.writer.embedder = old
    semantic.run()
    assert semantic.index.stat().st_ino != before
    assert semantic.paths("zebracomet") == ["memory/new.md"]
    assert answering(semantic, "toy")


@pytest.mark.parametrize("junk", [b"", os.urandom(50_000)], ids=["empty", "junk"])
@pytest.mark.parametrize("killed", [True, False])
def test_a_damaged_successor_is_dropped(semantic: Desk, junk: bytes, killed: bool) -> None:
    """Nothing of it is needed: it is begun anew, without a copy for anybody."""
    fill(semantic)
    semantic.sync()

    def kill(progress: dict[str, Any]) -> None:
        raise Killed

    semantic.writer.embedder = ToyEmbedder("other", 32)
    with pytest.raises(Killed):
        semantic.run(kill)
    if killed:
        successor_of(semantic.index).write_bytes(junk)
    else:
        with successor_of(semantic.index).open("r+b") as stream:
            stream.seek(20_000)
            stream.write(bytes(30_000))
    assert semantic.run().detail == "index_replaced"
    assert answering(semantic, "other")
    assert inner_files(semantic) == ["main.sqlite", "main.sqlite.lock", "main.sqlite.owner"]


def test_a_strangers_file_in_the_place_of_a_successor_is_never_touched(semantic: Desk) -> None:
    """It stays as it is, and the error says what to do; the index goes on answering."""
    fill(semantic)
    semantic.sync()
    successor_of(semantic.index).write_text("somebody's notes")
    semantic.writer.others["toy"] = semantic.writer.embedder or ToyEmbedder()
    semantic.writer.embedder = ToyEmbedder("other", 32)
    with pytest.raises(BackendError) as refused:
        semantic.sync()
    assert "memorySearch.store.path" in refused.value.hint
    assert successor_of(semantic.index).read_text() == "somebody's notes"
    assert answering(semantic, "toy")


def test_a_damaged_old_index_is_healed_whatever_was_planned(semantic: Desk) -> None:
    """The index that came by an exchange is known as ours even without its header."""
    fill(semantic)
    semantic.sync()
    semantic.writer.embedder = ToyEmbedder("other", 32)
    semantic.sync()
    asyncio.run(semantic.backend.close())
    semantic.index.write_bytes(os.urandom(100_000))
    semantic.reopened(chunk_tokens=60)
    assert semantic.sync().detail == "index_rebuilt"
    assert answering(semantic, "other")


_ON_A_SMALL_DISK = """
import sys
from pathlib import Path
from backends.base import BackendError
from backends.builtin import IndexJob, run_index_job
from tests.backends.builtin.conftest import ToyEmbedder
folder = Path(sys.argv[1])
jobs = [IndexJob.from_json(Path(path).read_bytes()) for path in sys.argv[2:]]
print(run_index_job(jobs[0], embedder_for=lambda spec: ToyEmbedder()).embedded)
before = (folder / "main.sqlite").stat().st_ino
try:
    run_index_job(jobs[1], embedder_for=lambda spec: ToyEmbedder("other", 1024))
except BackendError as error:
    print(error.failure, error.message, error.hint)
print((folder / "main.sqlite").stat().st_ino == before)
(folder / "ballast").unlink()
print(run_index_job(jobs[1], embedder_for=lambda spec: ToyEmbedder("other", 1024)).detail)
print(sorted(file.name for file in folder.iterdir()))
"""


def test_a_disk_that_fills_up_during_a_build_costs_nothing(semantic: Desk, tmp_path: Path) -> None:
    """The old index stays, the error says what to do, and the build goes on when there is room."""
    disk = tmp_path / "disk"
    disk.mkdir()
    fill(semantic, 400)
    first = replace(semantic.job, options=replace(semantic.job.options, index=disk / "main.sqlite"))
    for name, job in {"first": first, "second": first}.items():
        (tmp_path / name).write_bytes(job.to_json())
    mount = f"mount -t tmpfs -o size=48m tmpfs '{disk}' && head -c 40000000 /dev/zero > '{disk}/ballast'"
    command = ["unshare", "-rm", "sh", "-c", f'{mount} && exec "$0" "$@"', sys.executable, "-c", _ON_A_SMALL_DISK]
    try:
        subprocess.run(["unshare", "-rm", "sh", "-c", f"mount -t tmpfs tmpfs '{disk}'"], check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine lets nobody mount a small disk")
    told = subprocess.run(
        [*command, str(disk), str(tmp_path / "first"), str(tmp_path / "second")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.splitlines() == [
        "400",
        "disk_full The disk is full. Free space; the next sync goes on.",
        "True",
        "index_replaced",
        "['main.sqlite', 'main.sqlite.lock', 'main.sqlite.owner']",
    ]


class Interrupted(Executor):
    """A pool that works when it is asked to, and lets something happen before its second piece of work."""

    def __init__(self, happening: Callable[[], object]) -> None:
        self._happenings = [lambda: None, happening]

    def submit(self, work: Any, /, *args: Any, **named: Any) -> Future[Any]:
        if self._happenings:
            self._happenings.pop(0)()
        done: Future[Any] = Future()
        done.set_result(work(*args, **named))
        return done


def test_an_exchange_between_the_legs_of_a_search_loses_no_hit(desk: Desk) -> None:
    """The words were looked for in the old file; numbers of its chunks mean nothing in the new one."""
    for edit in range(5):
        desk.write("memory/a.md", f"zebracomet, edition {edit}\n")
        desk.sync()
    exchanged: list[str] = []
    desk.pool = Interrupted(lambda: exchanged.append(desk.run().detail))
    desk.reopened(chunk_tokens=90)
    assert desk.paths("zebracomet") == ["memory/a.md"]
    assert exchanged == ["index_replaced"]
