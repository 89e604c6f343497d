"""Bringing the index up to date: what is read, what is skipped, what is kept."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from backends.builtin.identity import Cut
from backends.builtin.intake import UnfitError, pieces, read
from backends.builtin.ownership import APPLICATION_ID
from backends.corpus import Found, Kind, Located, Root
from backends.passages import MAX_FILE_BYTES
from tests.backends.builtin.conftest import Desk, ToyEmbedder


def test_a_second_sync_changes_nothing(desk: Desk) -> None:
    """Unchanged files are neither read nor written again."""
    desk.write("memory/a.md", "one\n")
    assert desk.sync().changed == 1
    report = desk.sync()
    assert (report.ran, report.changed, report.unchanged) == (False, 0, 1)


def test_an_edit_replaces_the_old_words(desk: Desk) -> None:
    """After a sync the new wording is found and the old one is not."""
    desk.write("memory/a.md", "the codeword is alpha\n")
    desk.sync()
    desk.write("memory/a.md", "the codeword is bravo now\n")
    desk.sync()
    assert desk.paths("bravo") == ["memory/a.md"]
    assert desk.paths("alpha") == []


def test_a_touched_file_is_not_indexed_again(desk: Desk) -> None:
    """A new time with the same bytes counts as unchanged."""
    path = desk.write("memory/a.md", "one\n")
    desk.sync()
    os.utime(path, (1, 1))
    assert desk.sync().changed == 0


def test_a_deleted_file_goes_and_may_come_back(desk: Desk) -> None:
    """Removal and return both show in the next search."""
    path = desk.write("memory/a.md", "zebracomet\n")
    desk.sync()
    path.unlink()
    assert desk.sync().removed == 1
    assert desk.paths("zebracomet") == []
    desk.write("memory/a.md", "zebracomet\n")
    desk.sync()
    assert desk.paths("zebracomet") == ["memory/a.md"]


def test_bad_files_never_stop_the_others(desk: Desk) -> None:
    """Binary, unreadable and odd files are listed with their reason; the rest is indexed."""
    desk.write("memory/good.md", "zebracomet\n")
    desk.write("memory/binary.md", b"\x00\x01\x02")
    desk.write("memory/wide.md", "\ufeff雨水".encode("utf-16-le"))
    desk.write("memory/latin.md", "Gr\xfc\xdfe zebracomet".encode("latin-1"))
    desk.write("memory/large.md", "x" * (MAX_FILE_BYTES + 1))
    os.mkfifo(desk.workspace / "memory" / "fifo.md")
    os.mknod(desk.workspace / "memory" / "socket.md", stat.S_IFSOCK | 0o600)
    desk.write("memory/folder.md/inside.md", "zebracomet\n")
    report = desk.sync()
    assert dict(report.skipped) == {
        "memory/binary.md": "not text (holds NUL bytes)",
        "memory/wide.md": "UTF-16; save it as UTF-8",
        "memory/latin.md": "not UTF-8: other bytes stand as U+FFFD; save it as UTF-8",
        "memory/large.md": "larger than 8 MiB",
        "memory/fifo.md": "no regular file",
        "memory/socket.md": "no regular file",
        "memory/folder.md": "a folder",
    }
    assert desk.paths("zebracomet") == ["memory/good.md", "memory/latin.md", "memory/folder.md/inside.md"]
    assert dict(desk.sync().skipped) == dict(report.skipped)


def test_a_listed_file_that_changes_is_pending(desk: Desk) -> None:
    """That it was not fit says nothing about what stands in it today."""
    desk.write("memory/binary.md", b"\x00")
    desk.sync()
    assert asyncio.run(desk.backend.scan()).files == 0
    desk.write("memory/binary.md", "zebracomet\n")
    assert asyncio.run(desk.backend.scan()).files == 1
    assert desk.sync().skipped == {}
    assert desk.paths("zebracomet") == ["memory/binary.md"]


def test_a_file_that_grows_over_the_limit_while_it_is_read_is_no_half_note(tmp_path: Path) -> None:
    """What was listed small may be large by now: it is refused whole."""
    root = Root(name="memory-dir", kind=Kind.DAILY, path=tmp_path, patterns=("**/*.md",), shown="memory/")
    (tmp_path / "a.md").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    with pytest.raises(UnfitError) as refused:
        read(Located(root, "a.md"), Found("a.md", mtime_ns=1, size=1))
    assert refused.value.reason == "larger than 8 MiB"


def test_a_text_that_breaks_the_chunker_is_unfit_like_any_other(tmp_path: Path) -> None:
    """Whatever goes wrong with one note is told by its class, and is a reason to skip that note alone."""
    root = Root(name="memory-dir", kind=Kind.DAILY, path=tmp_path, patterns=("**/*.md",), shown="memory/")
    broken = Cut("as many as you like", 0)  # type: ignore[arg-type]
    with pytest.raises(UnfitError) as refused:
        pieces(Located(root, "a.md"), "zebracomet\n", broken)
    assert refused.value.reason == "cannot be cut into passages (TypeError)"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_listed(desk: Desk) -> None:
    """A file without read permission is skipped by name."""
    desk.write("memory/secret.md", "x\n").chmod(0)
    assert desk.sync().skipped == {"memory/secret.md": "cannot be read (EACCES)"}


def test_unchanged_text_is_never_embedded_twice(semantic: Desk) -> None:
    """A moved note and a forced rebuild take their vectors from the cache."""
    semantic.write("memory/a.md", "the codeword is zebracomet\n")
    semantic.sync()
    embedder = semantic.writer.embedder
    assert isinstance(embedder, ToyEmbedder)
    (semantic.workspace / "memory/a.md").rename(semantic.workspace / "memory/b.md")
    embedder.texts.clear()
    semantic.sync()
    semantic.sync(force=True)
    assert "the codeword is zebracomet" not in [text for text in embedder.texts if text.count(" ") > 4]
    assert semantic.backend.status().detail["vectors"] == 1


def test_another_model_replaces_every_vector(make_desk: Callable[..., Desk]) -> None:
    """A change of model and dimension re-embeds, and the search goes on with the new one."""
    desk = make_desk(ToyEmbedder())
    desk.write("memory/a.md", "my car is red\n")
    desk.sync()
    desk.writer.embedder = ToyEmbedder("other", 32)
    assert desk.sync().embedded == 1
    assert desk.backend.status().detail["dims"] == 32
    assert desk.answer("automobile", min_score=0.05).hits[0].vector_score is not None


def test_another_chunking_cuts_again(make_desk: Callable[..., Desk]) -> None:
    """A change of chunk size rebuilds the rows."""
    desk = make_desk()
    desk.write("memory/a.md", "".join(f"line {number} of some length\n" for number in range(60)))
    desk.sync()
    before = desk.backend.status().detail["chunks"]
    desk.reopened(chunk_tokens=50, chunk_overlap=0)
    desk.sync()
    assert desk.backend.status().detail["chunks"] > before


def test_without_embed_only_keywords_are_written(semantic: Desk) -> None:
    """`embed: false` leaves vectors for later, and later fills them."""
    semantic.write("memory/a.md", "one two\n")
    assert semantic.sync(embed=False).embedded == 0
    assert semantic.sync().embedded == 1


def test_the_index_is_open_to_a_stock_sqlite(semantic: Desk) -> None:
    """`files` and `chunks` can be read by any SQLite, and embeddings are float32 blobs."""
    semantic.write("memory/a.md", "one two\nthree\n")
    semantic.sync()
    with sqlite3.connect(semantic.index) as stock:
        assert stock.execute("SELECT path, source FROM files").fetchall() == [("memory/a.md", "memory")]
        row = stock.execute("SELECT start_line, end_line, text, length(embedding) FROM chunks").fetchone()
        assert row == (1, 2, "one two\nthree", 64 * 4)
        assert stock.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    stock.close()


def test_the_stored_vectors_agree_with_the_chunks(semantic: Desk) -> None:
    """After edits and removals `chunks_vec` holds exactly the vectors of the live chunks."""
    for name in "abc":
        semantic.write(f"memory/{name}.md", f"note {name}\n")
    semantic.sync()
    semantic.write("memory/a.md", "note a, edited\n")
    (semantic.workspace / "memory/b.md").unlink()
    semantic.sync()
    import sqlite_vec

    db = apsw.Connection(str(semantic.index))
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    stored = db.execute("SELECT number FROM chunks_vec ORDER BY number").fetchall()
    assert stored == db.execute("SELECT number FROM chunks WHERE stamp > 0 ORDER BY number").fetchall()
    db.close()


def test_the_index_is_private(desk: Desk) -> None:
    """Only the owner may read the file and its folder."""
    desk.write("memory/a.md", "x\n")
    desk.sync()
    assert desk.index.stat().st_mode & 0o777 == 0o600
    assert desk.index.parent.stat().st_mode & 0o777 == 0o700


def test_progress_is_reported(semantic: Desk) -> None:
    """Both phases say how far they are."""
    semantic.write("memory/a.md", "x y\n")
    semantic.sync()
    assert {"phase": "files", "done": 1, "total": 1} in semantic.writer.progress
    assert {"phase": "vectors", "done": 1, "total": 1} in semantic.writer.progress


def test_the_log_does_not_stay(desk: Desk) -> None:
    """After a job the write-ahead log is empty."""
    for number in range(50):
        desk.write(f"memory/{number}.md", f"note {number}\n" * 50)
    desk.sync()
    log = desk.index.with_name(desk.index.name + "-wal")
    assert not log.exists() or log.stat().st_size == 0


def test_odd_names_and_times_never_stop_the_others(desk: Desk) -> None:
    """Names that cannot be shown are listed as skipped while they are there; any time will do."""
    os.utime(desk.write("memory/late.md", "zebracomet\n"), ns=(9_500_000_000 * 10**9,) * 2)
    odd = desk.write(os.fsdecode(b"memory/bad\xff.md"), "zebracomet\n")
    assert list(desk.sync().skipped) == ["memory/bad\\xff.md"]
    assert desk.paths("zebracomet") == ["memory/late.md"]
    assert asyncio.run(desk.backend.scan()).files == 0
    odd.unlink()
    assert desk.sync().skipped == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_skipped_file_that_is_gone_is_no_longer_listed(desk: Desk) -> None:
    """The list of skipped files is that of the disk now."""
    path = desk.write("memory/secret.md", "x\n")
    path.chmod(0)
    desk.sync()
    path.unlink()
    assert desk.sync().skipped == {}


def test_text_that_was_cut_otherwise_is_cut_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of another version of the chunker is no index of this one."""
    desk.write("memory/a.md", "one\n")
    desk.sync()
    monkeypatch.setattr("backends.builtin.identity.CHUNKING_VERSION", -1)
    assert desk.sync().detail == "index_replaced"
    assert desk.sync().ran is False
