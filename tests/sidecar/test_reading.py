"""`memory_get`: whole lines, honest continuation, and nothing from outside the roots."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from backends.corpus import Corpus, Kind, Located, Root
from sidecar.tools.passage import Passage
from sidecar.tools.paths import PathNotAllowedError, locate
from sidecar.tools.reading import medium, read
from tests.running import alongside


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """An agent with one folder of notes."""
    memory = tmp_path / "workspace" / "memory"
    memory.mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("secret", encoding="utf-8")
    notes = Root(name="memory-dir", kind=Kind.DAILY, path=memory, patterns=("**/*.md",), shown="memory/")
    return Corpus("main", memory.parent, (notes,))


def note(corpus: Corpus, data: bytes, name: str = "a.md") -> str:
    """A note with these bytes; its shown path."""
    (corpus.roots[0].path / name).write_bytes(data)
    return f"memory/{name}"


def get(corpus: Corpus, path: str) -> Passage:
    """Read a note that is there."""
    found = read(locate(corpus, path))
    assert found is not None
    return found


def test_a_file_that_is_replaced_or_cut_while_it_is_read_gives_whole_lines(corpus: Corpus) -> None:
    """One opened file, however often its name gets another one."""
    path, over = note(corpus, b"first line\n" * 900), threading.Event()
    folder = corpus.roots[0].path

    def replace() -> None:
        while not over.is_set():
            (folder / "next").write_bytes(b"second line\n" * 900)
            (folder / "next").replace(folder / "a.md")
            (folder / "next").write_bytes(b"first line\n" * 900)
            (folder / "next").replace(folder / "a.md")
            os.truncate(folder / "a.md", len(b"first line\n") * 3)

    with alongside(replace, over):
        texts = [get(corpus, path).text for _ in range(1_000)]
    assert {frozenset(text.split("\n")) for text in texts} <= {frozenset({"first line"}), frozenset({"second line"})}


def test_a_missing_file_is_none(corpus: Corpus) -> None:
    """Today's note before its first line was written."""
    assert read(locate(corpus, "memory/2026-01-01.md")) is None
    assert read(locate(corpus, "memory/no/such/folder.md")) is None


def test_an_absolute_path_inside_a_root_is_understood(corpus: Corpus) -> None:
    """Agents often hold absolute paths."""
    note(corpus, b"one\n")
    assert locate(corpus, str(corpus.roots[0].path / "a.md")).path == "memory/a.md"


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../outside/secret.md",
        "memory/../../outside/secret.md",
        "memory/..\\secret.md",
        "{workspace}/memory/../../outside/secret.md",
        "{workspace}/../outside/secret.md",
        "{workspace}//memory/a.md",
        "/proc/self/environ",
        "/dev/zero",
        "memory/a.md\0.md",
        "memory/a.txt",
        "C:\\secret.md",
        "file:///etc/passwd",
        "qmd/other/secret.md",
        ".",
        "~/.ssh/id.md",
    ],
)
def test_a_path_outside_the_roots_is_refused(corpus: Corpus, path: str) -> None:
    """In any spelling."""
    with pytest.raises(PathNotAllowedError):
        locate(corpus, path.replace("{workspace}", str(corpus.workspace)))


@pytest.mark.parametrize("target", ["secret.md", "missing.md"])
def test_a_link_is_refused_whether_or_not_it_leads_anywhere(corpus: Corpus, target: str) -> None:
    """A link tells nothing about what exists behind it."""
    folder = corpus.roots[0].path
    (folder / "link.md").symlink_to(folder.parent.parent / "outside" / target)
    (folder / "sub").symlink_to(folder.parent.parent / "outside")
    for path in ("memory/link.md", f"memory/sub/{target}"):
        with pytest.raises(PathNotAllowedError):
            read(locate(corpus, path))


def test_a_fifo_is_refused_without_waiting_for_a_writer(corpus: Corpus) -> None:
    """Nothing hangs."""
    os.mkfifo(corpus.roots[0].path / "pipe.md")
    with pytest.raises(PathNotAllowedError):
        read(locate(corpus, "memory/pipe.md"))


def test_of_an_image_only_its_type_is_told(tmp_path: Path) -> None:
    """A missing one is empty, a link is refused, and so is what is no image of a root of images."""
    (tmp_path / "boat.PNG").write_bytes(b"\x89PNG")
    (tmp_path / "link.png").symlink_to(tmp_path / "boat.PNG")
    (tmp_path / "a.txt").touch()
    extra = {"kind": Kind.EXTRA, "path": tmp_path, "shown": "photos/"}
    media = Root(name="photos-media", patterns=("**/*",), media=("image",), **extra)
    corpus = Corpus("main", tmp_path, (media, Root(name="photos", patterns=("**/*.md",), **extra)))
    assert medium(locate(corpus, "photos/boat.PNG")) == {"path": "photos/boat.PNG", "text": "", "media": "image/png"}
    assert medium(locate(corpus, str(tmp_path / "boat.PNG")))["media"] == "image/png"
    assert medium(locate(corpus, "photos/gone.png")) == {"path": "photos/gone.png", "text": ""}
    with pytest.raises(PathNotAllowedError):
        medium(locate(corpus, "photos/link.png"))
    for path in ("photos/a.txt", "photos/talk.mp3", "photos/../boat.PNG"):
        with pytest.raises(PathNotAllowedError):
            locate(corpus, path)


@pytest.mark.parametrize("name", ["x" * 300 + ".md", "é" * 200 + ".md", "y" * 300 + "/a.md"])
def test_a_name_that_no_disk_can_hold_is_a_missing_file(corpus: Corpus, name: str) -> None:
    """Not an error of the disk."""
    assert read(locate(corpus, f"memory/{name}")) is None


def test_a_file_that_two_roots_cover_is_named_as_searches_name_it(tmp_path: Path) -> None:
    """A conversation stays one under a wide path around it, also by a root that is a link."""
    (tmp_path / "all" / "said").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "all" / "said")
    said = Root(
        name="sessions", kind=Kind.SESSION, path=tmp_path / "link", patterns=("**/*.md",), shown="qmd/sessions/"
    )
    wide = Root(name="all", kind=Kind.EXTRA, path=tmp_path / "all", patterns=("**/*.md",), shown="qmd/all/")
    corpus = Corpus("main", tmp_path / "workspace", (said, wide))
    for path in ("qmd/all/said/a.md", f"{tmp_path}/all/said/a.md", f"{tmp_path}/link/a.md", "qmd/sessions/a.md"):
        assert locate(corpus, path) == Located(said, "a.md")
    assert locate(corpus, "qmd/all/a.md") == Located(wide, "a.md")
