"""Images and recordings in the index: embedded by their bytes, found by meaning and by name, shown as files."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends.base import Mode
from backends.builtin import BuiltinBackend, batch_jobs
from backends.corpus import Corpus, Kind, Root
from backends.embedding import EmbeddingUnavailableError, Media, Vectors
from tests.backends.builtin.conftest import KEYWORDS_ONLY, Desk, ToyEmbedder
from tests.backends.builtin.test_batch_jobs import ByJobs, Provider

PNG = b"\x89PNG\r\n\x1a\n"
WAV = b"RIFF\0\0\0\0WAVE"


class Seeing(ToyEmbedder):
    """Reads what stands behind the head of a file as the words that it shows."""

    media = frozenset({"image/png", "audio/wav"})

    def __init__(self, concurrency: int = 0) -> None:
        super().__init__()
        self.concurrency = concurrency
        self.seen: list[bytes] = []
        self.gone = False

    def embed_media(self, items: Sequence[Media]) -> Vectors:
        if self.gone:
            raise EmbeddingUnavailableError("gone", "The model is gone.")
        self.seen += [item.data for item in items]
        rows: Vectors = self.embed([item.data[len(WAV if "audio" in item.mime else PNG) :].decode() for item in items])
        rows[[at for at, item in enumerate(items) if b"forbidden" in item.data]] = np.nan
        return rows


class Album(Desk):
    """A desk with a folder of extra files: its media, then its notes."""

    kinds: tuple[str, ...] = ("image", "audio")

    def reopened(self, **changes: Any) -> BuiltinBackend:
        super().reopened(**changes)
        extra = {"kind": Kind.EXTRA, "path": self.workspace / "photos", "shown": "photos/"}
        media = Root(name="photos-media", patterns=("**/*",), media=self.kinds, **extra)
        texts = Root(name="photos", patterns=("**/*.md",), **extra)
        roots = (*self.job.corpus.roots, *((media,) if self.kinds else ()), texts)
        self.job = replace(self.job, corpus=Corpus("main", self.workspace, roots))
        self.backend = BuiltinBackend(
            corpus=self.job.corpus, options=self.job.options, writer=self.writer, pool=self.pool
        )
        return self.backend

    def turned(self, *kinds: str) -> None:
        """Only these kinds of media from now on."""
        self.kinds = kinds
        self.reopened()

    def skipped(self) -> dict[str, str]:
        return dict(self.backend.status().detail["skipped"])


@pytest.fixture
def model() -> Seeing:
    return Seeing()


@pytest.fixture
def make_album(tmp_path: Path, pool: Any) -> Callable[..., Album]:
    return lambda model, **options: Album(tmp_path, pool, model, **options)


@pytest.fixture
def album(make_album: Callable[..., Album], model: Seeing) -> Album:
    """One image that shows a red boat, one note, one recording."""
    album = make_album(model)
    album.write("photos/img-1.png", PNG + b"a red boat on the lake")
    album.write("photos/talk.wav", WAV + b"grandmother tells of her wedding")
    album.write("memory/car.md", "my car is green\n")
    return album


def test_an_image_is_found_by_what_it_shows(album: Album) -> None:
    """It is shown as the file, without anything of its content."""
    assert album.sync().embedded == 3
    (hit,) = album.answer("boat lake").hits
    assert (hit.path, hit.start_line, hit.end_line, hit.media) == ("photos/img-1.png", 1, 1, "image/png")
    assert hit.snippet == "[image] photos/img-1.png"
    assert hit.vector_score is not None
    assert 0 < hit.vector_score <= 1
    assert (hit.root, hit.kind) == ("photos-media", Kind.EXTRA)


def test_a_recording_is_found_by_what_is_said(album: Album) -> None:
    """Also by vectors alone."""
    album.sync()
    for mode in (Mode.SEARCH, Mode.VSEARCH):
        (hit,) = album.answer("grandmother wedding", mode=mode).hits
        assert (hit.path, hit.snippet) == ("photos/talk.wav", "[audio] photos/talk.wav")


def test_media_are_found_by_name_without_any_model(make_album: Callable[..., Album]) -> None:
    """By words of the path, and above all by the whole name."""
    album = make_album(None, embedding=KEYWORDS_ONLY)
    album.write("photos/2024/harbour boat.png", PNG)
    album.write("memory/car.md", "harbour boat.png is on the old disk\n")
    album.sync()
    assert "photos/2024/harbour boat.png" in album.paths("boat in the harbour")
    for name in ("harbour boat.png", "harbour boat", "photos/2024/harbour boat.png"):
        hit = album.answer(name).hits[0]
        assert (hit.path, hit.score >= 0.99) == ("photos/2024/harbour boat.png", True)


def test_media_stand_among_notes_by_their_scores(album: Album) -> None:
    """A longer list begins with the shorter one."""
    album.write("memory/boat.md", "a red boat on the lake\n")
    album.write("memory/lake.md", "the lake is deep\n")
    album.sync()
    found = album.answer("red boat on the lake", max_results=20, min_score=0.1).hits
    assert [hit.path for hit in found][:2] == ["memory/boat.md", "photos/img-1.png"]
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    paths = [hit.path for hit in found]
    for count in range(1, len(found) + 1):
        assert album.paths("red boat on the lake", max_results=count, min_score=0.1) == paths[:count]


def test_the_least_score_holds_for_media(album: Album) -> None:
    """What is not relevant enough is no hit, and is counted."""
    album.sync()
    (hit,) = album.answer("boat lake", explain=True).hits
    assert hit.explain is not None
    assert hit.explain["window"]["reason"] == "meaning"
    answer = album.answer("boat lake", min_score=hit.score + 0.01, explain=True)
    assert (answer.hits, answer.explain and answer.explain["leftOut"]["belowMinScore"] >= 1) == ((), True)


def test_a_file_that_is_gone_is_no_hit(album: Album) -> None:
    """Before any sync; nor is one that became a link."""
    album.sync()
    image = album.workspace / "photos/img-1.png"
    image.rename(album.workspace / "elsewhere.png")
    assert album.paths("boat lake") == []
    image.symlink_to(album.workspace / "elsewhere.png")
    assert album.paths("boat lake") == []
    assert album.sync().removed == 1
    assert album.backend.status().documents == 2


def test_dates_hold_by_the_time_of_the_file(album: Album) -> None:
    """Media have no other."""
    album.sync()
    noon = 1_700_000_000
    os.utime(album.workspace / "photos/img-1.png", (noon, noon))
    album.sync()
    day = date.fromtimestamp(noon)
    assert album.paths("boat lake", after=day, before=day) == ["photos/img-1.png"]
    assert album.paths("boat lake", before=day.replace(year=2022)) == []


def test_nothing_is_embedded_twice(album: Album, model: Seeing) -> None:
    """Not when touched, moved, copied or looked at again."""
    album.sync()
    image = album.workspace / "photos/img-1.png"
    os.utime(image, (1, 1))
    album.sync(force=True)
    album.write("photos/copy.png", image.read_bytes())
    image.rename(image.with_name("moved.png"))
    album.sync()
    assert len(model.seen) == 2
    assert sorted(album.paths("boat lake")) == ["photos/copy.png", "photos/moved.png"]


def test_a_changed_image_is_embedded_anew(album: Album, model: Seeing) -> None:
    """And is found by what it shows now."""
    album.sync()
    album.write("photos/img-1.png", PNG + b"three horses in a meadow")
    report = album.sync()
    assert (report.changed, report.embedded) == (1, 1)
    assert album.paths("boat lake") == []
    assert album.paths("horses meadow") == ["photos/img-1.png"]


def test_turning_media_on_embeds_them_alone_and_off_removes_them(album: Album, model: Seeing) -> None:
    """The notes keep their vectors, and the index stays where it is."""
    album.turned()
    assert album.sync().embedded == 1
    album.turned("image", "audio")
    report = album.sync()
    assert (report.changed, report.embedded, report.unchanged, report.detail) == (2, 2, 1, "")
    album.turned("image")
    assert (album.sync().removed, album.paths("grandmother wedding")) == (1, [])
    album.turned()
    report = album.sync()
    assert (report.removed, report.embedded, album.paths("boat lake")) == (1, 0, [])
    assert model.seen == [PNG + b"a red boat on the lake", WAV + b"grandmother tells of her wedding"]


def test_the_index_holds_hash_and_path_and_nothing_of_the_content(album: Album) -> None:
    """Readable with a stock SQLite."""
    image = album.workspace / "photos/img-1.png"
    album.sync()
    with closing(sqlite3.connect(album.index)) as stock:
        rows = stock.execute("SELECT hash, text, start_line, end_line FROM chunks WHERE path = 'photos/img-1.png'")
        assert rows.fetchall() == [(hashlib.sha256(image.read_bytes()).hexdigest(), "img-1.png", 1, 1)]
    assert all(b"red boat" not in file.read_bytes() for file in album.index.parent.iterdir())


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("virus.png", b"MZ\x90\0 boat", "its bytes are not those of a .png file"),
        ("really-a-wav.png", WAV + b"boat", "its bytes are not those of a .png file"),
        ("empty.PNG", b"", "its bytes are not those of a .PNG file"),
        ("large.png", PNG + b"boat" * 100, "larger than multimodal.maxFileBytes (300)"),
    ],
)
def test_what_must_not_be_uploaded_is_listed_with_the_reason(
    make_album: Callable[..., Album], model: Seeing, name: str, data: bytes, reason: str
) -> None:
    """And is looked at no more until it changes."""
    album = make_album(model, most_media_bytes=300)
    album.write(f"photos/{name}", data)
    album.sync()
    assert (model.seen, album.skipped()) == ([], {f"photos/{name}": reason})
    assert album.sync().changed == 0
    assert album.skipped() == {f"photos/{name}": reason}
    album.write(f"photos/{name}", PNG + b"a boat")
    album.sync()
    assert (album.skipped(), album.paths("boat")) == ({}, [f"photos/{name}"])


def test_another_limit_lets_a_file_in_and_out(make_album: Callable[..., Album], model: Seeing) -> None:
    """Without embedding anything that was embedded before."""
    album = make_album(model, most_media_bytes=20)
    album.write("photos/small.png", PNG + b"boat")
    album.write("photos/large.png", PNG + b"a red boat on the lake")
    album.sync()
    for limit, found in ((100, ["photos/large.png"]), (20, []), (100, ["photos/large.png"])):
        album.reopened(most_media_bytes=limit)
        album.sync()
        assert album.paths("red lake") == found
        assert list(album.skipped()) == ([] if found else ["photos/large.png"])
    assert len(model.seen) == 2


def test_a_model_for_texts_leaves_media_to_their_names_and_says_so(make_album: Callable[..., Album]) -> None:
    """Once, with what to do; nothing is listed as broken."""
    album = make_album(ToyEmbedder())
    for number in range(3):
        album.write(f"photos/boat-{number}.png", PNG + bytes([number]))
    album.write("memory/car.md", "my car is green\n")
    report = album.sync()
    assert (report.embedded, dict(report.skipped), report.detail) == (1, {}, "media_by_name")
    (notice,) = album.answer("boat").notices
    assert (notice.code, "3 images" in notice.message, "gemini" in notice.action) == ("media_by_name", True, True)
    assert len(album.paths("boat")) == 3


@pytest.mark.parametrize("concurrency", [0, 3])
def test_one_file_that_the_model_refuses_costs_itself_alone(make_album: Callable[..., Album], concurrency: int) -> None:
    """Also one of a type that it does not take: both are listed, and found by their names."""
    album = make_album(Seeing(concurrency))
    for number in range(9):
        album.write(f"photos/{number}.png", PNG + b"boat %d" % number)
    album.write("photos/bad.png", PNG + b"forbidden")
    album.write("photos/loop.gif", b"GIF89a boat")
    assert album.sync().embedded == 9
    assert album.skipped() == {
        "photos/bad.png": "it has no vector: the model gave no numbers",
        "photos/loop.gif": "it has no vector: the model does not take image/gif",
    }
    assert album.paths("bad.png")[0] == "photos/bad.png"


def test_a_file_that_the_model_declined_is_not_uploaded_again(album: Album, model: Seeing) -> None:
    """It stays listed. A forced sync asks once more, and so does one after the file has changed."""
    album.write("photos/img-1.png", PNG + b"forbidden")
    why = {"photos/img-1.png": "it has no vector: the model gave no numbers"}
    for force, asked in ((False, 1), (False, 1), (True, 2)):
        album.sync(force=force)
        assert (model.seen.count(PNG + b"forbidden"), album.skipped()) == (asked, why)
    album.write("photos/img-1.png", PNG + b"a red boat on the lake")
    album.sync()
    assert (album.skipped(), album.paths("boat lake")) == ({}, ["photos/img-1.png"])


def test_a_provider_that_is_down_gets_the_files_at_the_next_sync(album: Album, model: Seeing) -> None:
    """The notes have their vectors meanwhile."""
    model.gone = True
    report = album.sync()
    assert (report.embedded, report.embedding_failure) == (1, "gone")
    model.gone = False
    assert album.sync().embedded == 2


def test_a_file_that_changes_before_it_is_sent_is_not_sent_under_its_old_name(album: Album, model: Seeing) -> None:
    """What was hashed is what is embedded, or nothing."""

    def change(progress: dict[str, Any]) -> None:
        if progress["phase"] == "files":
            album.write("photos/img-1.png", PNG + b"something else entirely")

    report = album.run(report=change)
    assert dict(report.skipped) == {
        "photos/img-1.png": "it has no vector: it was changed meanwhile; the next sync takes it"
    }
    assert model.seen == [WAV + b"grandmother tells of her wedding"]
    assert album.sync().embedded == 1
    assert album.paths("entirely else") == ["photos/img-1.png"]


def test_a_rebuild_beside_the_index_keeps_the_vectors_of_media(album: Album, model: Seeing) -> None:
    """Another chunk size is no reason to upload an image again."""
    album.sync()
    album.reopened(chunk_tokens=50, chunk_overlap=10)
    report = album.sync()
    assert "index_replaced" in report.detail
    assert len(model.seen) == 2
    assert album.paths("boat lake") == ["photos/img-1.png"]


def test_an_image_that_a_root_of_texts_takes_over_is_no_hit_any_more(album: Album) -> None:
    """The index follows a path to its new root, though the file did not change."""
    album.write("photos/img-1.png", PNG + b"\0 boat")
    album.sync()
    roots = [root for root in album.job.corpus.roots if not root.media]
    roots[-1] = replace(roots[-1], patterns=("**/*",))
    corpus = replace(album.job.corpus, roots=tuple(roots))
    album.backend = BuiltinBackend(corpus=corpus, options=album.job.options, writer=album.writer, pool=album.pool)
    album.sync()
    assert album.paths("img-1.png") == []
    assert album.skipped() == dict.fromkeys(["photos/img-1.png", "photos/talk.wav"], "not text (holds NUL bytes)")


class SeeingByJobs(ByJobs, Seeing):
    """Takes texts by jobs, too."""


def test_batch_jobs_take_texts_and_leave_media_to_direct_calls(
    make_album: Callable[..., Album], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path of an image is not embedded in its place, and the image does not wait for the job."""
    monkeypatch.setattr(batch_jobs, "FEWEST_TEXTS", 1)
    provider = Provider()
    provider.done = False
    album = make_album(model := SeeingByJobs(provider))
    album.write("photos/img-1.png", PNG + b"a red boat on the lake")
    album.write("memory/car.md", "my car is green\n")
    assert album.sync().embedded == 1
    assert [list(texts.values()) for texts in provider.submitted] == [["my car is green"]]
    assert model.seen == [PNG + b"a red boat on the lake"]
    assert album.paths("boat lake") == ["photos/img-1.png"]


def test_images_do_not_change_what_counts_as_near_among_texts(make_album: Callable[..., Album], model: Seeing) -> None:
    """Where cosines of texts lie is measured on texts alone."""
    album = make_album(model)
    for number in range(4):
        album.write(f"memory/{number}.md", f"note number {number} on boats and lakes\n")
    album.sync()
    before = spreads(album)
    for number in range(4):
        album.write(f"photos/{number}.png", PNG + b"entirely different things, number %d" % number)
    album.sync()
    assert spreads(album) == before != "null"


def spreads(album: Album) -> str:
    with closing(sqlite3.connect(album.index)) as stock:
        (value,) = stock.execute("SELECT value FROM meta WHERE key = 'spreads'").fetchone()
    return str(value)
