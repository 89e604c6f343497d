"""Shown paths and files are one to one, links stay outside, and both engines see the same files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcmatch import glob

from backends.corpus import Corpus, Kind, Located, Root, is_plain, open_regular, read_text
from backends.patterns import literal, matcher

PATHS = st.text(alphabet="aM./~:\\\n\0é*[]{}\udc80", max_size=12)


def root(path: Path, *patterns: str, name: str = "memory-dir", shown: str = "memory/") -> Root:
    """A root with the given patterns."""
    return Root(name=name, kind=Kind.DAILY, path=path, patterns=patterns or ("**/*.md",), shown=shown)


def write(path: Path, text: str = "text\n") -> Path:
    """A file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def names(*roots: Root) -> list[str]:
    """The shown paths of a corpus."""
    corpus = Corpus("main", roots[0].path, roots)
    return [root.shown + found.relative for root, found in corpus.files()]


def test_files_are_found_in_path_order_at_every_depth(tmp_path: Path) -> None:
    """A plain walk."""
    for name in ("b.md", "a/z.md", "a/b/c.md", "not.txt"):
        write(tmp_path / name)
    assert sorted(names(root(tmp_path))) == ["memory/a/b/c.md", "memory/a/z.md", "memory/b.md"]


def test_hidden_and_build_folders_are_ignored_inside_but_not_above(tmp_path: Path) -> None:
    """A memory below a hidden parent is fine; a hidden folder inside it is not memory."""
    home = tmp_path / ".hidden" / "memory"
    for name in ("kept.md", ".archive/x.md", "build/y.md", "node_modules/z.md", ".dot.md"):
        write(home / name)
    assert names(root(home)) == ["memory/kept.md"]


def test_links_inside_a_root_are_skipped_but_the_root_may_be_one(tmp_path: Path) -> None:
    """Honest users link their memory folder; nobody may link out of it."""
    secret = write(tmp_path / "outside" / "secret.md")
    write(tmp_path / "real" / "note.md")
    (tmp_path / "real" / "leak.md").symlink_to(secret)
    (tmp_path / "real" / "leaks").symlink_to(secret.parent)
    (tmp_path / "memory").symlink_to(tmp_path / "real")
    assert names(root(tmp_path / "memory")) == ["memory/note.md"]


def test_a_missing_root_is_empty(tmp_path: Path) -> None:
    """It is picked up when it appears."""
    missing = root(tmp_path / "later")
    assert names(missing) == []
    write(tmp_path / "later" / "a.md")
    assert names(missing) == ["memory/a.md"]


def test_the_root_memory_slot_takes_the_first_name_that_exists(tmp_path: Path) -> None:
    """`MEMORY.md`, else `memory.md`, never both."""
    slot = root(tmp_path, "MEMORY.md", "memory.md", name="memory-root", shown="")
    write(tmp_path / "memory.md")
    assert names(slot) == ["memory.md"]
    write(tmp_path / "MEMORY.md")
    assert names(slot) == ["MEMORY.md"]


def test_a_file_that_two_roots_cover_belongs_to_the_first(tmp_path: Path) -> None:
    """No file is indexed twice."""
    write(tmp_path / "memory" / "a.md")
    inner = root(tmp_path / "memory")
    outer = root(tmp_path, name="extra", shown="qmd/extra/")
    assert names(inner, outer) == ["memory/a.md"]


def test_glob_characters_in_a_file_name_are_literal(tmp_path: Path) -> None:
    """A single file as a root is that file alone."""
    odd = "notes [v1] {a,b}*.md"
    write(tmp_path / odd)
    write(tmp_path / "notes v a.md")
    assert names(root(tmp_path, literal(odd), shown="")) == [odd]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "../x.md",
        "memory/../x.md",
        "memory/./a.md",
        "memory//a.md",
        "memory\\a.md",
        "C:a.md",
        "~/a.md",
        "memory/a.md\0",
        "memory/.hidden/a.md",
        "memory/a.txt",
        "other/a.md",
    ],
)
def test_a_path_that_no_root_holds_is_not_located(tmp_path: Path, path: str) -> None:
    """Traversal in any spelling names nothing."""
    assert Corpus("main", tmp_path, (root(tmp_path),)).locate(path) is None


def test_every_listed_file_is_located_and_opened_by_its_shown_path(tmp_path: Path) -> None:
    """path <-> (root, relative) is one to one."""
    for name in ("a.md", "ü/日本.md", "x/y z.md"):
        write(tmp_path / name, name)
    corpus = Corpus("main", tmp_path, (root(tmp_path),))
    for owner, found in corpus.files():
        located = corpus.locate(owner.shown + found.relative)
        assert located is not None
        assert located.root is owner
        assert read_text(located, max_bytes=100) == found.relative


@pytest.mark.parametrize("kind", ["link", "folder link", "fifo", "folder"])
def test_only_a_regular_file_is_opened(tmp_path: Path, kind: str) -> None:
    """Neither a link at any level nor a pipe nor a folder."""
    target = write(tmp_path / "outside" / "a.md")
    inside = tmp_path / "memory"
    inside.mkdir()
    relative = "a.md"
    match kind:
        case "link":
            (inside / "a.md").symlink_to(target)
        case "folder link":
            (inside / "sub").symlink_to(target.parent)
            relative = "sub/a.md"
        case "fifo":
            os.mkfifo(inside / "a.md")
        case "folder":
            (inside / "a.md").mkdir()
    with pytest.raises(OSError):
        open_regular(Located(root(inside), relative))


@pytest.mark.parametrize("name", [b"bad\xff\xfe.md", b"d\xff/x.md", b"a\\b.md"])
def test_a_name_that_cannot_be_shown_is_refused_and_told(tmp_path: Path, name: bytes) -> None:
    """It is no memory, in a printable form, and what is listed beside it can be located."""
    write(tmp_path / "good.md")
    write(tmp_path / os.fsdecode(name))
    corpus = Corpus("main", tmp_path, (root(tmp_path),))
    refused: dict[str, str] = {}
    listed = [Located(owner, found.relative).path for owner, found in corpus.files(lambda p, w: refused.update({p: w}))]
    assert listed == ["memory/good.md"]
    (shown,) = refused
    assert shown.encode("utf-8").isascii()
    assert shown.startswith("memory/")


@pytest.mark.parametrize("name", ["~x.md", "C:/z.md", "a:b.md", " lead.md", "x\ny.md", "[a]*{b}?.md"])
def test_what_is_listed_can_be_located(tmp_path: Path, name: str) -> None:
    """Listing and locating agree for odd names, with a prefix before them and without."""
    write(tmp_path / name)
    for shown in ("memory/", ""):
        corpus = Corpus("main", tmp_path, (root(tmp_path, shown=shown),))
        places = [Located(owner, found.relative) for owner, found in corpus.files()]
        assert [corpus.locate(place.path) for place in places] == places


def test_times_stay_within_64_bits(tmp_path: Path) -> None:
    """A file of the year 2271 or of 1653 has a time that an index can hold."""
    for name, seconds in (("a.md", 9_500_000_000), ("b.md", -10_000_000_000)):
        os.utime(write(tmp_path / name), ns=(seconds * 10**9, seconds * 10**9))
    assert all(abs(found.mtime_ns) <= 2**63 for found in root(tmp_path).files())


@given(PATHS | PATHS.map(lambda path: f"{path}.md"))
def test_the_usual_pattern_means_what_every_glob_means(path: str) -> None:
    """Its short cut differs from the long way for no path that a root can hold."""
    compiled = glob.compile("**/*.md", flags=glob.GLOBSTAR | glob.BRACE | glob.DOTGLOB | glob.FORCEUNIX)
    if is_plain(path):
        assert matcher("**/*.md")(path) == compiled.match(path)


@given(PATHS)
def test_a_plain_path_climbs_nowhere_and_can_be_written_anywhere(path: str) -> None:
    """Told name by name, as the pattern that decides it is not."""
    names = path.split("/")
    odd = any(name in ("", ".", "..") for name in names) or path.startswith("~") or ":" in names[0]
    assert is_plain(path) == (not odd and not any(character in "\\\0\udc80" for character in path))
