"""What was deleted is gone from the disk, and the log is never larger than it need be."""

from __future__ import annotations

import asyncio
import shutil
import time
from contextlib import closing
from pathlib import Path

import apsw
import pytest
import sqlite_vec

from backends.base import BackendError, Failure
from backends.builtin.meta import NOTED_S, read_meta, write_meta
from backends.builtin.reader import Reader
from backends.builtin.schema import open_for_writing
from backends.builtin.upkeep import keep_log_short
from tests.backends.builtin.conftest import Desk, ToyEmbedder

SECRET = "zebracomet"


def fill(desk: Desk, count: int, lines: int = 40) -> None:
    for number in range(count):
        words = " ".join(f"w{number * 7 % 997} w{number % 89}" for _ in range(8))
        desk.write(f"memory/many/{number}.md", "".join(f"{line} {words}\n" for line in range(lines)))


def bytes_of(index: Path) -> bytes:
    """The index with its log, as a thief would read it."""
    return b"".join(file.read_bytes() for file in sorted(index.parent.glob(f"{index.name}*")))


def test_deleting_many_notes_gives_the_space_back(desk: Desk) -> None:
    """The file shrinks with what it holds, and all of it is still found."""
    desk.write("memory/kept.md", f"{SECRET}\n")
    fill(desk, 400)
    desk.sync()
    before = desk.index.stat().st_size
    shutil.rmtree(desk.workspace / "memory/many")
    fill(desk, 20)
    assert desk.sync().removed == 380
    assert desk.index.stat().st_size < before * 0.25
    assert desk.paths(SECRET) == ["memory/kept.md"]
    with closing(apsw.Connection(str(desk.index))) as connection:
        assert connection.pragma("integrity_check") == "ok"


def test_a_deleted_note_is_not_readable_in_the_file(semantic: Desk) -> None:
    """Neither its text, nor its words, nor its name, whatever is around it."""
    fill(semantic, 60)
    semantic.write(f"memory/{SECRET}.md", f"The code is {SECRET}.\n")
    semantic.sync()
    fill(semantic, 90)
    semantic.sync()
    assert SECRET.encode() in bytes_of(semantic.index)
    (semantic.workspace / f"memory/{SECRET}.md").unlink()
    semantic.sync()
    assert SECRET.encode() not in bytes_of(semantic.index)
    with closing(apsw.Connection(str(semantic.index))) as connection:
        connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('integrity-check')").fetchall()


def test_a_note_deleted_from_a_small_index_is_not_readable_either(desk: Desk) -> None:
    """With one segment of words there is nothing to merge it with."""
    desk.write("memory/a.md", "nothing of note\n")
    desk.write("memory/b.md", f"The code is {SECRET}.\n")
    desk.sync()
    (desk.workspace / "memory/b.md").unlink()
    desk.sync()
    assert SECRET.encode() not in bytes_of(desk.index)


def test_room_of_dead_vectors_is_given_back(semantic: Desk) -> None:
    """sqlite-vec keeps blocks in which a few rows live: the table is made anew when most of it is dead."""
    for number in range(2600):
        semantic.write(f"memory/{number}.md", f"note {number}\n")
    semantic.sync()
    for number in range(2600):
        if number % 13:
            (semantic.workspace / f"memory/{number}.md").unlink()
    semantic.sync()
    with closing(apsw.Connection(str(semantic.index))) as connection:
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        assert connection.execute("SELECT count(*) FROM chunks_vec").fetchall() == [(200,)]
        assert connection.execute("SELECT total(size) FROM chunks_vec_chunks").fetchall() == [(1024.0,)]


def test_a_log_that_grew_is_cut_between_batches(tmp_path: Path) -> None:
    """SQLite itself would begin it anew only when no reader is there."""
    with closing(open_for_writing(tmp_path / "i.sqlite", None).connection) as connection:
        write(connection, 200)
        assert log_bytes(tmp_path) > 400_000
        keep_log_short(connection, most_bytes=10**9)
        assert log_bytes(tmp_path) > 400_000
        keep_log_short(connection, most_bytes=400_000)
        assert log_bytes(tmp_path) == 0


def test_a_reader_that_holds_the_log_stops_the_writer_in_time(tmp_path: Path) -> None:
    """Rather than filling the disk it says `locked`; when the reader is gone it goes on."""
    index = tmp_path / "i.sqlite"
    with closing(open_for_writing(index, None).connection) as connection:
        write(connection, 10)
        reader = Reader(index)
        with reader.lease(time.monotonic() + 60):
            write(connection, 200)
            with pytest.raises(BackendError) as held:
                keep_log_short(connection, most_bytes=400_000, wait_ms=50)
            assert held.value.failure is Failure.LOCKED
            assert held.value.hint
        keep_log_short(connection, most_bytes=400_000, wait_ms=50)
        assert log_bytes(tmp_path) == 0
        reader.close()


def write(connection: apsw.Connection, rows: int) -> None:
    for number in range(rows):
        connection.execute(
            "INSERT OR REPLACE INTO embedding_cache VALUES ('p', 'm', 'k', ?, zeroblob(3000), 750, 1)", (str(number),)
        )


def log_bytes(folder: Path) -> int:
    return (folder / "i.sqlite-wal").stat().st_size


def test_searches_without_a_break_do_not_keep_a_sync_from_its_end(semantic: Desk) -> None:
    """Readers come and go all the time, and afterwards the log is empty."""
    fill(semantic, 30)

    async def scene() -> None:
        over = asyncio.Event()

        async def search() -> None:
            while not over.is_set():
                await semantic.ask("w7")

        searching = [asyncio.create_task(search()) for _ in range(2)]
        await asyncio.to_thread(semantic.run)
        over.set()
        await asyncio.gather(*searching)

    semantic.sync()
    semantic.writer.embedder = ToyEmbedder("other", 32)
    asyncio.run(scene())
    asyncio.run(semantic.backend.close())
    assert semantic.sync().embedded == 0
    log = semantic.index.with_name(f"{semantic.index.name}-wal")
    assert not log.exists() or log.stat().st_size == 0


def test_a_sync_of_unchanged_notes_writes_nothing_to_the_index(semantic: Desk) -> None:
    """Not a page: agents that nobody talks to are synced every few minutes, many of them on one disk."""
    fill(semantic, 10)
    semantic.write("memory/bad.md", b"\xff\xfe\x00")
    semantic.sync()
    written_at = semantic.index.stat().st_mtime_ns
    assert semantic.sync().unchanged == 11
    assert semantic.index.stat().st_mtime_ns == written_at


def test_when_an_index_was_last_synced_is_known_although_it_is_not_told(semantic: Desk) -> None:
    """What the daemon says is its own last sync; an index opened anew says at most an hour less."""
    semantic.write("memory/a.md", "the boat\n")
    semantic.sync()
    first = semantic.backend.status().detail["lastSync"]
    semantic.sync()
    assert semantic.backend.status().detail["lastSync"] > first
    semantic.reopened()
    semantic.paths("boat")
    assert semantic.backend.status().detail["lastSync"] <= first


def test_a_sync_is_noted_again_after_an_hour(semantic: Desk) -> None:
    """And when the clock was set back."""
    semantic.write("memory/a.md", "the boat\n")
    semantic.sync()
    for at in (time.time() - NOTED_S, time.time() + NOTED_S):
        with closing(apsw.Connection(str(semantic.index))) as connection:
            write_meta(connection, last_sync=at)
        semantic.sync()
        with closing(apsw.Connection(str(semantic.index))) as connection:
            assert abs(read_meta(connection)["last_sync"] - time.time()) < NOTED_S / 2
