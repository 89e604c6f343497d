"""index.yml: ours is written and taken back, a person's stays as it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from backends.corpus import Corpus, Kind, Root
from backends.qmd import collections
from backends.qmd.collections import Collection, Desired, Plan
from tests.backends.qmd.making import corpus_of, write

NOTES = Collection("notes", "/n", "**/*.md")
WANTED = Desired(collections=(NOTES,), held=())


def test_an_empty_index_gets_every_root(tmp_path: Path) -> None:
    """Roots that are there become collections; a missing one is held."""
    write(tmp_path, {"MEMORY.md": "x"})
    wanted = collections.desired(corpus_of(tmp_path))
    assert (wanted.names, wanted.held) == (("memory-root",), ("memory-dir",))
    assert collections.plan({}, wanted, {}) == Plan(create=("memory-root",))


def test_the_pattern_in_force_is_written(tmp_path: Path) -> None:
    """One slot for MEMORY.md or memory.md."""
    write(tmp_path, {"memory.md": "x"})
    assert collections.desired(corpus_of(tmp_path)).collections[0].pattern == "memory.md"


def test_a_linked_root_is_written_as_its_target(tmp_path: Path) -> None:
    """qmd finds files outside a collection that is a link."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert collections.desired(corpus_of(tmp_path / "link")).collections[0].path == os.path.realpath(tmp_path / "real")


@pytest.mark.parametrize(
    ("pattern", "mask"), [("a,b.md", "a?b.md"), ("{a,b}.md", "{a,b}.md"), ("**/*.md", "**/*.md"), ("[,]x", "[,]x")]
)
def test_commas_do_not_split_a_mask(tmp_path: Path, pattern: str, mask: str) -> None:
    """qmd takes a comma outside of braces for a list."""
    root = Root(name="n", kind=Kind.EXTRA, path=tmp_path, patterns=(pattern,), shown="qmd/n/")
    assert collections.desired(Corpus("main", tmp_path, (root,))).collections[0].pattern == mask


def test_a_moved_root_is_bound_anew_and_keeps_its_context() -> None:
    """Path and pattern are ours, everything else of an entry is not."""
    document = {"collections": {"notes": {"path": "/old", "pattern": "*.md", "context": {"/": "my notes"}}}}
    step = collections.plan(document, WANTED, {})
    after = collections.applied(document, WANTED, step, {})
    assert step == Plan(rebind=("notes",))
    assert after["collections"]["notes"] == {"path": "/n", "pattern": "**/*.md", "context": {"/": "my notes"}}


def test_what_a_person_wrote_is_left_alone() -> None:
    """Collections, contexts and keys that are not ours survive every step."""
    document = {
        "global_context": "mine",
        "collections": {"private": {"path": "/p", "pattern": "*.md"}, "gone": {"path": "/g", "pattern": "*.md"}},
    }
    step = collections.plan(document, WANTED, {"gone": ["/g", "*.md"]})
    after = collections.applied(document, WANTED, step, {})
    assert step == Plan(create=("notes",), remove=("gone",))
    assert after["global_context"] == "mine"
    assert set(after["collections"]) == {"private", "notes"}


def test_one_of_ours_that_a_person_changed_is_theirs() -> None:
    """Only what still is as we wrote it is removed."""
    document = {"collections": {"gone": {"path": "/elsewhere", "pattern": "*.md"}}}
    assert collections.plan(document, Desired(collections=(), held=()), {"gone": ["/g", "*.md"]}) == Plan()


def test_models_of_the_environment_are_written() -> None:
    """What index.yml says wins over the environment, so the environment has to stand there."""
    after = collections.applied({"models": {"embed": "hf:x", "rerank": "r"}}, WANTED, Plan(), {"QMD_EMBED_MODEL": "/m"})
    assert after["models"] == {"embed": "/m", "rerank": "r"}


def test_names_in_any_script_survive_a_round_trip(tmp_path: Path) -> None:
    """Text that older YAML takes for dates, numbers or truth stays text."""
    names = ["on", "no", "2026-01-01", "12:30", "1e3", "0x1F", "飞书", "a: b", "#x", "null", "010"]
    document = {"collections": {name: {"path": f"/{name}", "pattern": "*"} for name in names}, "flag": True, "n": 3}
    collections.store(tmp_path / "index.yml", document)
    assert collections.load(tmp_path / "index.yml") == document
    assert (tmp_path / "index.yml").stat().st_mode & 0o777 == 0o600


def test_plain_words_of_yaml_1_2_are_text(tmp_path: Path) -> None:
    """What qmd wrote without quotes is read as qmd reads it."""
    (tmp_path / "index.yml").write_text("collections:\n  on:\n    path: /x\n    pattern: 2026-01-01\n")
    assert collections.load(tmp_path / "index.yml") == {"collections": {"on": {"path": "/x", "pattern": "2026-01-01"}}}


def test_a_damaged_file_is_set_aside(tmp_path: Path) -> None:
    """Broken YAML would stop every command; it is kept beside the new one."""
    (tmp_path / "index.yml").write_text("collections: [oops\n")
    assert collections.load(tmp_path / "index.yml") == {}
    assert (tmp_path / "index.yml.broken").exists()


@pytest.mark.parametrize(
    ("entries", "wrong"),
    [
        ([{"name": "notes", "path": "/n", "pattern": "**/*.md"}], ()),
        ([{"name": "notes", "path": "/n", "pattern": "MEMORY.md"}], ("notes",)),
        ([{"name": "notes", "path": "/old", "pattern": "**/*.md"}], ("notes",)),
        ([], ("notes",)),
        (None, ()),
    ],
)
def test_the_read_back_finds_what_is_not_as_wanted(entries: object, wrong: tuple[str, ...]) -> None:
    """A pattern or path that qmd did not take is seen."""
    assert collections.mismatches({"collections": entries}, WANTED) == wrong
