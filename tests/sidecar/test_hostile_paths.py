"""No path, link or change of the disk shows a caller anything outside of the agent's roots."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backends.corpus import Corpus, Kind, Root, is_spelled_so
from sidecar.client import RefusedError
from sidecar.config import load, resolve_corpus
from sidecar.tools.paths import PathNotAllowedError, locate
from sidecar.tools.reading import read
from tests.running import Running, alongside, running, until
from tests.sidecar.hostile import CANARY, MISSING, OWN, READ, REFUSED, TABLE, Layout, lay_out


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """The disk full of traps. Only read."""
    return lay_out(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def daemon(layout: Layout) -> Iterator[Running]:
    """A daemon over it, with a secret in its environment, whose log and errors tell nothing of secrets at the end."""
    with running(layout.folder, layout.config(), SECRET=CANARY) as daemon:
        daemon.sync("main")
        yield daemon
    assert CANARY not in daemon.log.read_text(encoding="utf-8")


def test_the_table_is_large() -> None:
    """Spellings, links, sorts of files, and the agent's own as a proof that reading works at all."""
    assert len(TABLE) == len(set(TABLE)) >= 100


@pytest.mark.parametrize(("spelling", "expected"), TABLE)
def test_a_caller_sees_its_own_memory_and_nothing_else(
    layout: Layout, daemon: Running, spelling: str, expected: str
) -> None:
    """Neither in a reply nor in an error; and an error names no place on disk."""
    path = layout.path(spelling)
    try:
        reply = daemon.get("main", path)
    except RefusedError as error:
        told = str(error.as_json())
        assert error.status < 500
        assert error.code == (REFUSED if path else "invalid_request")
        assert expected == REFUSED
        assert str(layout.folder) not in told
    else:
        told = reply["text"]
        assert expected == (READ if told else MISSING)
        assert told in ("", OWN)
    assert CANARY not in told


def corpus_of(layout: Layout) -> Corpus:
    """The corpus of `main`, as a daemon resolves it."""
    file = layout.folder / "in-process.json5"
    file.write_text(json.dumps(layout.config()), encoding="utf-8")
    settings = load(file, environ={"HOME": str(layout.folder)}, state_dir=layout.folder / "state")
    return resolve_corpus(settings, settings.agents["main"])[0]


def seen(corpus: Corpus, path: str) -> str:
    """What a reading shows: text, or in a word why there is none."""
    try:
        found = read(locate(corpus, path))
    except PathNotAllowedError:
        return REFUSED
    return MISSING if found is None else found.text


@pytest.mark.parametrize(("spelling", "expected"), TABLE)
def test_a_path_is_refused_missing_or_read(layout: Layout, spelling: str, expected: str) -> None:
    """The same without the gateway in front, which refuses some paths for their form."""
    path, _, _ = layout.path(spelling).partition("#")
    assert seen(corpus_of(layout), path) == (OWN if expected == READ else expected)


def test_nothing_tells_whether_a_file_outside_exists(layout: Layout) -> None:
    """What is there and what is not is refused alike, by name, by absolute path, and through a link."""
    corpus = corpus_of(layout)
    for there in ("docs/secret.md", f"{layout.outside}/secret.md", "memory/linked/secret.md", "memory/link.md"):
        gone = there.replace("secret", "nowhere").replace("link.md", "dangling.md")
        assert seen(corpus, there) == seen(corpus, gone) == REFUSED


def test_the_denied_are_told_the_same_of_every_path(layout: Layout, daemon: Running) -> None:
    """Before anything on disk is looked at: also of what is refused or missing for those who may read."""
    replies = []
    for spelling, _ in TABLE:
        if path := layout.path(spelling):
            reply = daemon.get("main", path, sessionKey="agent:main:discord:channel:9")
            assert reply.pop("path") == path
            replies.append(json.dumps(reply))
    assert json.loads(replies[0])["outcome"] == "denied"
    assert len(set(replies)) == 1


def swap_file(memory: Path, outside: Path) -> None:
    """A note becomes a link to a secret, and a note again."""
    (memory / "next").symlink_to(outside / "secret.md")
    (memory / "next").replace(memory / "secret.md")
    (memory / "next").write_text(OWN, encoding="utf-8")
    (memory / "next").replace(memory / "secret.md")


def swap_folder(memory: Path, outside: Path) -> None:
    """A folder of notes becomes a link to one of secrets, and is back."""
    (memory / "sub").rename(memory / "kept")
    (memory / "sub").symlink_to(outside)
    (memory / "sub").unlink()
    (memory / "kept").rename(memory / "sub")


def swap_inner_folder(memory: Path, outside: Path) -> None:
    """The same, deeper down and with a link that climbs."""
    (memory / "deep" / "sub").rename(memory / "deep" / "kept")
    (memory / "deep" / "sub").symlink_to("../../outside")
    (memory / "deep" / "sub").unlink()
    (memory / "deep" / "kept").rename(memory / "deep" / "sub")


def swap_sort(memory: Path, outside: Path) -> None:
    """A note becomes a pipe, a folder, nothing, and a note again."""
    file = memory / "secret.md"
    for make in (os.mkfifo, os.mkdir):
        file.unlink()
        make(file)
        (file.rmdir if file.is_dir() else file.unlink)()
        file.write_text(OWN, encoding="utf-8")


@pytest.mark.parametrize(
    ("swap", "name"),
    [
        (swap_file, "secret.md"),
        (swap_folder, "sub/secret.md"),
        (swap_inner_folder, "deep/sub/secret.md"),
        (swap_sort, "secret.md"),
    ],
)
def test_a_swap_between_check_and_read_shows_nothing(
    tmp_path: Path, swap: Callable[[Path, Path], None], name: str
) -> None:
    """Thousands of readings beside a thread that exchanges what is read: its own words, or nothing."""
    memory, outside = tmp_path / "memory", tmp_path / "outside"
    for folder, text in ((memory, OWN), (memory / "sub", OWN), (memory / "deep" / "sub", OWN), (outside, CANARY)):
        folder.mkdir(parents=True)
        (folder / "secret.md").write_text(text, encoding="utf-8")
    notes = Root(name="memory-dir", kind=Kind.DAILY, path=memory, patterns=("**/*.md",), shown="memory/")
    corpus, over = Corpus("main", tmp_path, (notes,)), threading.Event()

    def swap_on() -> None:
        while not over.is_set():
            swap(memory, outside)

    counted: Counter[str] = Counter()

    def read_on() -> bool:
        counted.update(seen(corpus, f"memory/{name}") for _ in range(1_000))
        return counted.total() >= 3_000 and counted[OWN] > 0 and counted[MISSING] + counted[REFUSED] > 0

    with alongside(swap_on, over):
        until(read_on, what="a reading before and one amid a swap")
    assert counted.keys() <= {OWN, "", MISSING, REFUSED}


def test_only_the_spelling_of_the_listing_opens(tmp_path: Path) -> None:
    """As on disks that are blind to case, or to the forms of Unicode: there another spelling opens the same file."""
    composed, decomposed = "caf\u00e9.md", "cafe\u0301.md"
    for name in ("note.MD", composed, "BOTH.md", "both.MD", "2026"):
        (tmp_path / name).touch()
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        spelled = {
            name: is_spelled_so(folder, name)
            for name in ("note.MD", "NOTE.md", composed, decomposed, "BOTH.md", "both.MD", "2026")
        }
    finally:
        os.close(folder)
    assert [name for name, so in spelled.items() if not so] == ["NOTE.md", decomposed]
