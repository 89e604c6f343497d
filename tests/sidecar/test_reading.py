"""`memory_get`: whole lines, honest continuation, and nothing from outside the roots."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from backends.corpus import Corpus, Kind, Root
from sidecar.tools.reading import MAX_CHARS, Excerpt, PathNotAllowedError, locate, medium, read


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


def get(corpus: Corpus, path: str, **range_: int) -> Excerpt:
    """Read a note that is there."""
    excerpt = read(locate(corpus, path), **range_)
    assert excerpt is not None
    return excerpt


def test_a_small_file_is_read_whole(corpus: Corpus) -> None:
    """No truncation, no continuation."""
    excerpt = get(corpus, note(corpus, b"one\ntwo\n"))
    assert (excerpt.text, excerpt.start, excerpt.lines) == ("one\ntwo", 1, 2)
    assert (excerpt.truncated, excerpt.next_from) == (False, None)


def test_a_range_says_where_to_go_on(corpus: Corpus) -> None:
    """Reading on from `next_from` gives every line once."""
    path = note(corpus, b"".join(b"line %d\n" % n for n in range(1, 11)))
    first = get(corpus, path, start=3, lines=4)
    assert (first.text.splitlines()[0], first.lines, first.next_from) == ("line 3", 4, 7)
    rest = get(corpus, path, start=7, lines=4)
    assert (rest.lines, rest.truncated) == (4, False)


def test_line_ends_and_byte_order_marks_are_not_text(corpus: Corpus) -> None:
    """CRLF and BOM are the file's packaging."""
    assert get(corpus, note(corpus, b"\xef\xbb\xbfone\r\ntwo\r\n")).text == "one\ntwo"


def test_bytes_that_are_not_utf8_are_shown_as_replacement(corpus: Corpus) -> None:
    """A wrong encoding is no error."""
    assert get(corpus, note(corpus, b"caf\xe9\n")).text == "caf\ufffd"


def test_other_line_separators_do_not_shift_line_numbers(corpus: Corpus) -> None:
    """Only a newline ends a line, for us as for the engines."""
    assert get(corpus, note(corpus, "a\u2028b\x0cc\nd".encode()), start=2).text == "d"


def test_the_character_limit_cuts_at_a_line(corpus: Corpus) -> None:
    """Whole lines only, and the next one is named."""
    path = note(corpus, b"x" * 5000 + b"\n" + b"y" * 5000 + b"\n" + b"z" * 5000 + b"\n")
    excerpt = get(corpus, path)
    assert (excerpt.lines, excerpt.truncated, excerpt.next_from) == (2, True, 3)
    assert len(excerpt.text) <= MAX_CHARS


def test_a_line_longer_than_the_limit_is_cut_and_skipped(corpus: Corpus) -> None:
    """A five-megabyte line costs no five megabytes of reply, and what follows can be reached."""
    path = note(corpus, "ü".encode() * 5_000_000 + b"\nafter\n")
    excerpt = get(corpus, path)
    assert (len(excerpt.text), excerpt.truncated, excerpt.next_from) == (MAX_CHARS, True, 2)
    assert get(corpus, path, start=2).text == "after"


def test_a_start_beyond_the_end_is_empty(corpus: Corpus) -> None:
    """No error, no lines."""
    excerpt = get(corpus, note(corpus, b"one\n"), start=5)
    assert (excerpt.text, excerpt.lines, excerpt.truncated) == ("", 0, False)


def test_a_missing_file_is_none(corpus: Corpus) -> None:
    """Today's note before its first line was written."""
    assert read(locate(corpus, "memory/2026-01-01.md")) is None
    assert read(locate(corpus, "memory/no/such/folder.md")) is None


def test_an_absolute_path_inside_a_root_is_understood(corpus: Corpus) -> None:
    """Agents often hold absolute paths."""
    note(corpus, b"one\n")
    assert get(corpus, str(corpus.roots[0].path / "a.md")).path == "memory/a.md"


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


def test_a_file_that_is_far_too_large_is_not_searched_through(corpus: Corpus) -> None:
    """A terabyte of nothing must not keep a thread from its work."""
    path = note(corpus, b"")
    os.truncate(corpus.roots[0].path / "a.md", 2**40)
    with pytest.raises(OSError) as caught:
        read(locate(corpus, path), start=10)
    assert caught.value.errno == errno.EFBIG


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
