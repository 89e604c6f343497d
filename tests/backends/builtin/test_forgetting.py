"""Conversations that are gone leave nothing behind in an index, nor in what stands beside it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

import apsw
import pytest

from backends.base import SyncReport
from backends.builtin import batch_jobs
from backends.builtin.forgetting import Holdings, holdings
from backends.builtin.indexing import run_index_job
from backends.builtin.successor import successor_of
from backends.corpus import Kind, Root
from backends.embedding import EmbeddingUnavailableError
from tests.backends.builtin.conftest import Desk, ToyEmbedder
from tests.backends.builtin.test_batch_jobs import ByJobs, Provider
from tests.backends.builtin.test_successor import Killed
from tests.backends.builtin.test_upkeep import SECRET, bytes_of


class Conversations:
    """An index over notes and conversations, and its model."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.folder = desk.workspace.parent / "sessions"
        self.folder.mkdir()
        root = Root(name="sessions", kind=Kind.SESSION, path=self.folder, patterns=("*.md",), shown="qmd/sessions/")
        corpus = desk.job.corpus
        self.job = replace(desk.job, corpus=replace(corpus, roots=(*corpus.roots, root)))
        self.model: Any = desk.writer.embedder

    def say(self, name: str, text: str) -> None:
        """Write an export."""
        (self.folder / name).write_text(text + "\n", encoding="utf-8")

    def sync(self, report: Any = lambda progress: None, **changes: Any) -> SyncReport:
        """Run one job."""
        return run_index_job(replace(self.job, **changes), embedder_for=lambda spec: self._model(), report=report)

    def _model(self) -> Any:
        if self.model is None:
            raise EmbeddingUnavailableError("provider_down", "It is down.", hint="Wait.")
        return self.model

    def cached(self) -> int:
        """The number of cached vectors."""
        with closing(apsw.Connection(str(self.desk.index))) as connection:
            return int(connection.execute("SELECT count(*) FROM embedding_cache").fetchall()[0][0])


@pytest.fixture
def talk(semantic: Desk) -> Conversations:
    """With two conversations and a note, indexed."""
    talk = Conversations(semantic)
    semantic.write("memory/note.md", "the boat is blue\n")
    talk.say("s1.md", f"User: the word is {SECRET}")
    talk.say("s2.md", "User: my car is red")
    talk.sync()
    return talk


def test_the_cached_vectors_of_a_deleted_session_go_with_it(talk: Conversations) -> None:
    """And no byte of its words is left."""
    assert talk.cached() == 3
    (talk.folder / "s1.md").unlink()
    talk.sync()
    assert talk.cached() == 2
    assert SECRET.encode() not in bytes_of(talk.desk.index)


def test_a_kill_before_the_end_does_not_save_them(talk: Conversations) -> None:
    """What left is remembered in the transaction in which it did."""
    (talk.folder / "s1.md").unlink()
    talk.say("s3.md", "User: hello")

    def kill(progress: dict[str, Any]) -> None:
        raise Killed

    with pytest.raises(Killed):
        talk.sync(kill)
    talk.sync()
    assert talk.cached() == 3


def test_a_session_of_another_name_is_not_embedded_again(talk: Conversations) -> None:
    """A reset renames an export."""
    talk.model.texts.clear()
    (talk.folder / "s1.md").rename(talk.folder / "s1.jsonl.reset.2026.md")
    talk.sync()
    assert (talk.model.texts, talk.cached()) == ([], 3)


def test_a_turn_that_left_a_session_leaves_the_cache(talk: Conversations) -> None:
    """A note's earlier words may stay: they are the user's to write again."""
    talk.say("s1.md", "User: the word is gone")
    talk.desk.write("memory/note.md", "the boat is green\n")
    talk.sync()
    assert talk.cached() == 4


def test_a_successor_that_nobody_builds_on_goes_with_a_deleted_session(talk: Conversations) -> None:
    """It has not heard of the deletion."""
    talk.model = ToyEmbedder("other", 32)

    def kill(progress: dict[str, Any]) -> None:
        if progress["phase"] == "vectors":
            raise Killed

    with pytest.raises(Killed):
        talk.sync(kill)
    assert SECRET.encode() in bytes_of(successor_of(talk.desk.index))
    talk.model = None
    (talk.folder / "s1.md").unlink()
    talk.sync()
    assert SECRET.encode() not in bytes_of(talk.desk.index)


def test_a_purge_leaves_no_copy_and_no_orphaned_vector(talk: Conversations) -> None:
    """Also of a note: its earlier words may be what is purged."""
    aside = talk.desk.index.with_name(f"{talk.desk.index.name}.damaged-1")
    aside.write_text(SECRET)
    talk.desk.write("memory/note.md", "the boat is green\n")
    (talk.folder / "s1.md").unlink()
    talk.sync(purge=True, embed=False)
    assert talk.cached() == 1
    assert not aside.exists()
    assert SECRET.encode() not in bytes_of(talk.desk.index)


def test_an_index_tells_what_it_has_of_something(talk: Conversations) -> None:
    """Of conversations alone; an index that is not there has nothing."""
    index = talk.desk.index
    assert holdings(index, lambda name, text: SECRET in text) == Holdings(chunks=1, vectors=1, cached=1)
    assert holdings(index, lambda name, text: name == "s2.md") == Holdings(chunks=1, vectors=1, cached=1)
    assert holdings(index, lambda name, text: "boat" in text) == Holdings()
    assert holdings(index.with_name("none.sqlite"), lambda name, text: True) == Holdings()


def test_what_a_provider_made_of_a_deleted_text_is_dropped(semantic: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its job may end long after the deletion."""
    monkeypatch.setattr(batch_jobs, "FEWEST_TEXTS", 2)
    provider, talk = Provider(), Conversations(semantic)
    talk.model, provider.done = ByJobs(provider), False
    for number in range(6):
        talk.say(f"s{number}.md", f"User: my car number {number}")
    talk.sync()
    assert len(provider.submitted[0]) == 6
    (talk.folder / "s0.md").unlink()
    talk.sync()
    provider.done = True
    talk.sync()
    assert talk.cached() == 5
