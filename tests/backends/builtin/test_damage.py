"""Every way in which an index is lost: searches say so, a sync rebuilds it, and nobody else's file is touched."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from backends.base import BackendError, Failure, SyncReport, SyncRequest
from backends.builtin import IndexJob, Report
from backends.builtin.ownership import APPLICATION_ID
from tests.backends.builtin.conftest import Desk, InProcessWriter


def emptied(index: Path) -> None:
    with index.open("w"):
        pass


def junk(index: Path) -> None:
    index.write_bytes(os.urandom(200_000))


def zeroed(index: Path) -> None:
    index.write_bytes(bytes(index.stat().st_size))


def cut(index: Path) -> None:
    os.truncate(index, 20_000)


def executed(statement: str) -> Callable[[Path], None]:
    def act(index: Path) -> None:
        with closing(apsw.Connection(str(index))) as connection:
            connection.execute(statement).fetchall()

    return act


DAMAGES = {
    "emptied": emptied,
    "junk": junk,
    "zeroed": zeroed,
    "cut": cut,
    "no chunks": executed("DROP TABLE chunks"),
    "no files": executed("DROP TABLE files"),
    "no meta": executed("DROP TABLE meta"),
    "no words": executed("DROP TABLE chunks_fts"),
    "a column less": executed("ALTER TABLE chunks DROP COLUMN end_line"),
    "no rows": executed("DELETE FROM files; DELETE FROM chunks; DELETE FROM meta"),
    "fewer rows": executed("DELETE FROM chunks WHERE number % 2"),
    "broken JSON": executed("UPDATE meta SET value = '{bad'"),
    "other JSON": executed("UPDATE meta SET value = '[1]'"),
    "no text": executed("UPDATE meta SET value = x'ff'"),
    "torn vectors": executed("UPDATE chunks SET embedding = x'00'"),
    "no UTF-8": executed("UPDATE chunks SET text = CAST(x'ff' AS TEXT)"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_index_is_told_and_rebuilt(semantic: Desk, damage: Callable[[Path], None]) -> None:
    """With readers that hold the old file, a search is `index_lost` and one sync brings everything back."""
    for number in range(30):
        semantic.write(f"memory/{number}.md", f"zebracomet number {number}\n" * 20)
    semantic.sync()
    semantic.answer("zebracomet")
    holder = semantic.backend
    damage(semantic.index)
    if damage is not emptied:
        # What an open reader holds in memory may still answer, and rightly. An empty file is no index to a new one.
        semantic.reopened()
    assert failure_of(semantic) is Failure.INDEX_LOST
    assert semantic.backend.status().ready is False
    report = semantic.sync()
    assert (report.ran, report.changed, report.detail) == (True, 30, "index_rebuilt")
    assert len(semantic.paths("zebracomet", max_results=50)) == 30
    status = semantic.backend.status()
    assert status.ready
    assert [notice.code for notice in status.notices] == ["index_rebuilt"]
    assert semantic.sync().detail == ""
    asyncio.run(holder.close())


def failure_of(desk: Desk) -> Failure | None:
    """How a search fails."""
    try:
        desk.answer("zebracomet number")
    except BackendError as error:
        return error.failure
    return None


def test_damage_that_only_a_search_meets_is_healed(desk: Desk) -> None:
    """A sync with nothing to do would never read the pages that a search found broken."""
    for number in range(300):
        desk.write(f"memory/{number}.md", f"zebracomet number {number}\n" * 60)
    desk.sync()
    asyncio.run(desk.backend.close())
    desk.reopened()
    with desk.index.open("r+b") as stream:
        stream.seek(desk.index.stat().st_size // 4)
        stream.write(b"\xff" * (desk.index.stat().st_size // 2))
    with pytest.raises(BackendError):
        desk.answer("zebracomet number 7")
    assert desk.sync().detail == "index_rebuilt"
    assert desk.paths("zebracomet", max_results=50)


def test_a_damaged_index_is_kept(desk: Desk) -> None:
    """It is renamed, not deleted."""
    desk.write("memory/a.md", "zebracomet\n")
    desk.sync()
    junk(desk.index)
    before = desk.index.read_bytes()
    desk.sync()
    (aside,) = desk.index.parent.glob("*.damaged-*")
    assert aside.read_bytes() == before


def test_only_the_newest_damaged_index_is_kept(desk: Desk) -> None:
    """A bad disk is not filled with copies of what stands in the notes."""
    desk.write("memory/a.md", "zebracomet\n")
    for _ in range(3):
        desk.sync()
        junk(desk.index)
        newest = desk.index.read_bytes()
    desk.sync()
    (aside,) = desk.index.parent.glob("*.damaged-*")
    assert aside.read_bytes() == newest


def note(index: Path) -> None:
    index.write_text("# My diary\n\nnothing that an engine made\n")


def database(index: Path) -> None:
    with closing(sqlite3.connect(index)) as stock, stock:
        stock.execute("CREATE TABLE theirs (x)")


def named_database(index: Path) -> None:
    database(index)
    executed("PRAGMA application_id = 77")(index)


def young_database(index: Path) -> None:
    with closing(sqlite3.connect(index)) as stock:
        stock.execute("PRAGMA user_version = 1")


@pytest.mark.parametrize("make", [note, junk, database, named_database, young_database])
def test_a_file_of_somebody_else_is_never_touched(desk: Desk, make: Callable[[Path], None]) -> None:
    """It stays byte for byte, nothing is put beside it, and the answer says what to do."""
    desk.index.parent.mkdir(parents=True)
    make(desk.index)
    before = desk.index.read_bytes()
    with pytest.raises(BackendError) as refused:
        desk.sync()
    assert refused.value.failure is Failure.INDEX_LOST
    assert "memorySearch.store.path" in refused.value.hint
    with pytest.raises(BackendError):
        desk.answer("anything")
    assert desk.backend.status().ready is False
    assert desk.index.read_bytes() == before
    assert list(desk.index.parent.iterdir()) == [desk.index]


@pytest.mark.parametrize("make", [note, database])
def test_a_file_that_took_the_place_of_ours_is_never_touched(desk: Desk, make: Callable[[Path], None]) -> None:
    """The mark beside the index speaks of the file that we made and of no other."""
    desk.write("memory/a.md", "zebracomet\n")
    desk.sync()
    make(desk.workspace / "other")
    before = (desk.workspace / "other").read_bytes()
    (desk.workspace / "other").replace(desk.index)
    with pytest.raises(BackendError):
        desk.sync()
    assert desk.index.read_bytes() == before


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_refused_without_waiting(desk: Desk, make: Callable[[Path], None]) -> None:
    """A pipe or a folder at the index path is an error at once."""
    desk.index.parent.mkdir(parents=True)
    make(desk.index)
    with pytest.raises(BackendError) as refused:
        desk.sync()
    assert refused.value.failure is Failure.INDEX_LOST
    with pytest.raises(BackendError):
        desk.answer("anything")


def test_an_index_killed_at_birth_is_taken_up(desk: Desk) -> None:
    """The unsigned first page of ours is filled."""
    desk.write("memory/a.md", "zebracomet\n")
    desk.sync()
    asyncio.run(desk.backend.close())
    os.truncate(desk.index, 0)
    with closing(sqlite3.connect(desk.index)) as stock:
        stock.execute("PRAGMA journal_mode = wal")
    desk.reopened()
    assert desk.sync().changed == 1
    with closing(sqlite3.connect(desk.index)) as stock:
        assert stock.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


def test_failed_first_syncs_explain_a_search(desk: Desk) -> None:
    """Without an index because it cannot be written, a search says why instead of finding nothing."""
    desk.write("memory/a.md", "zebracomet\n")
    desk.index.parent.parent.mkdir(exist_ok=True)
    desk.index.parent.write_text("a file where the folder should be")
    with pytest.raises(BackendError) as failed:
        desk.sync()
    with pytest.raises(BackendError) as unanswered:
        desk.answer("zebracomet")
    assert (unanswered.value.failure, unanswered.value.message) == (failed.value.failure, failed.value.message)
    assert desk.backend.status().ready is False
    desk.index.parent.unlink()
    desk.sync()
    assert desk.paths("zebracomet") == ["memory/a.md"]


def test_a_search_during_the_first_sync_is_pending(desk: Desk) -> None:
    """An index that is being made is not a lost one."""
    desk.write("memory/a.md", "zebracomet\n")

    class Slow(InProcessWriter):
        async def index(self, job: IndexJob, report: Report) -> SyncReport:
            desk.index.parent.mkdir()
            executed("PRAGMA journal_mode = wal")(desk.index)
            started.set()
            await release.wait()
            desk.index.unlink()
            return await super().index(job, report)

    started, release = asyncio.Event(), asyncio.Event()
    desk.writer = Slow(None)
    desk.reopened()

    async def scene() -> None:
        syncing = asyncio.create_task(desk.backend.sync(SyncRequest(reason="test")))
        await asyncio.wait_for(started.wait(), 10)
        answer = await desk.ask("zebracomet")
        assert (answer.hits, answer.pending and answer.pending.files) == ((), 1)
        release.set()
        await asyncio.wait_for(syncing, 10)
        assert [hit.path for hit in (await desk.ask("zebracomet")).hits] == ["memory/a.md"]

    asyncio.run(scene())
