"""The engine as a `Backend`: both legs, deadlines, filters, status, and an index that comes and goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from backends.base import BackendError, Failure, Mode
from backends.builtin import BuiltinBackend, BuiltinOptions, EmbeddingSpec, IndexJob
from backends.corpus import Corpus, Kind, Root
from tests.backends.builtin.conftest import Desk, ToyEmbedder


def test_meaning_finds_what_words_do_not(semantic: Desk) -> None:
    """A synonym that the note does not hold finds it by its vector."""
    semantic.write("memory/a.md", "my car is red\n")
    semantic.write("memory/b.md", "bread needs flour\n")
    semantic.sync()
    hit = semantic.answer("automobile").hits[0]
    assert hit.path == "memory/a.md"
    assert hit.vector_score is not None
    assert hit.vector_score > 0.3


def test_an_exact_identifier_passes_without_help_from_vectors(semantic: Desk) -> None:
    """A ticket number alone is above the default threshold though vectors carry more weight."""
    semantic.write("memory/a.md", "We closed PIO-1384 after the storm, with many other words around it.\n")
    semantic.sync()
    assert semantic.paths("PIO-1384") == ["memory/a.md"]


@pytest.mark.alone
def test_a_late_embedding_leaves_keywords(semantic: Desk) -> None:
    """When the query's vector does not come in time, keywords answer, and the answer says which leg is missing."""
    semantic.write("memory/a.md", "zebracomet\n")
    semantic.sync()
    semantic.writer.hang = True
    answer = semantic.answer("zebracomet", timeout_s=1.0)
    assert [hit.path for hit in answer.hits] == ["memory/a.md"]
    assert answer.partial
    assert [notice.code for notice in answer.notices] == ["semantic_unfinished"]


def test_an_answer_names_its_model(semantic: Desk) -> None:
    """Provider and model stand in the answer only when vectors took part."""
    semantic.write("memory/a.md", "zebracomet\n")
    semantic.sync()
    assert (semantic.answer("zebracomet").provider, semantic.answer("zebracomet").model) == ("static", "toy")


def test_a_missing_model_is_told(make_desk: Callable[..., Desk]) -> None:
    """Without a semantic model search works by keywords, with a notice of what to install."""
    desk = make_desk(embedding=EmbeddingSpec(provider="auto"))
    desk.write("memory/a.md", "zebracomet\n")
    desk.sync()
    answer = desk.answer("zebracomet")
    assert [notice.code for notice in answer.notices] == ["embedding_missing"]
    assert answer.hits


def test_vectors_alone_without_vectors_fall_back_to_keywords(desk: Desk) -> None:
    """`vsearch` without a model answers by keywords, and says so by its mode."""
    desk.write("memory/a.md", "zebracomet\n")
    desk.sync()
    answer = desk.answer("zebracomet", mode=Mode.VSEARCH)
    assert (answer.mode, len(answer.hits)) == (Mode.SEARCH, 1)


def test_vectors_alone_give_no_text_score(semantic: Desk) -> None:
    """`vsearch` scores by vectors only."""
    semantic.write("memory/a.md", "my car is red\n")
    semantic.sync()
    hit = semantic.answer("car", mode=Mode.VSEARCH, min_score=0.1).hits[0]
    assert hit.text_score is None
    assert hit.score == hit.vector_score


def test_before_any_index_the_files_are_pending(desk: Desk) -> None:
    """A search without an index answers nothing and counts what waits."""
    desk.write("memory/a.md", "zebracomet\n")
    answer = desk.answer("zebracomet")
    assert answer.hits == ()
    assert answer.pending is not None
    assert answer.pending.files == 1


def test_an_index_deleted_under_the_engine_is_lost_and_comes_back(desk: Desk) -> None:
    """Deleting the file fails with `index_lost`; the next sync heals it."""
    desk.write("memory/a.md", "zebracomet\n")
    desk.sync()
    for part in desk.index.parent.iterdir():
        part.unlink()
    with pytest.raises(BackendError) as lost:
        desk.answer("zebracomet")
    assert lost.value.failure is Failure.INDEX_LOST
    desk.sync()
    assert desk.paths("zebracomet") == ["memory/a.md"]


def test_an_index_that_is_closed_to_us_is_not_called_gone(desk: Desk) -> None:
    """No sync could build it; once its folder is open again it answers as before."""
    desk.write("memory/a.md", "zebracomet\n")
    desk.sync()
    folder = desk.index.parent
    aside = folder.rename(folder.with_name("aside"))
    folder.write_text("", encoding="utf-8")
    with pytest.raises(BackendError, match="cannot be read"):
        desk.answer("zebracomet")
    folder.unlink()
    aside.rename(folder)
    assert desk.paths("zebracomet") == ["memory/a.md"]


def test_a_scan_counts_new_changed_and_vanished_files(desk: Desk) -> None:
    """What differs from the index is pending until a sync."""
    for name in "abc":
        desk.write(f"memory/{name}.md", f"{name}\n")
    desk.sync()
    desk.write("memory/a.md", "changed\n")
    desk.write("memory/d.md", "new\n")
    (desk.workspace / "memory/b.md").unlink()
    assert asyncio.run(desk.backend.scan()).files == 3
    desk.sync()
    assert desk.backend.status().pending is None


def test_a_longer_list_begins_with_the_shorter(semantic: Desk) -> None:
    """The first n of twenty results are the n results."""
    for number in range(40):
        semantic.write(f"memory/{number}.md", f"meeting {number} about the zebra plan {'today ' * (number % 5)}\n" * 3)
    semantic.sync()
    long = [(hit.path, hit.start_line) for hit in semantic.answer("zebra meeting plan", max_results=20).hits]
    for count in (1, 3, 6, 10):
        short = [(hit.path, hit.start_line) for hit in semantic.answer("zebra meeting plan", max_results=count).hits]
        assert short == long[:count]


def test_status_tells_the_index(semantic: Desk) -> None:
    """Documents, chunks, vectors, model and store are there after a sync."""
    semantic.write("memory/a.md", "x y\n")
    assert semantic.backend.status().ready is False
    semantic.sync()
    status = semantic.backend.status()
    assert (status.ready, status.documents) == (True, 1)
    expected = {"chunks": 1, "vectors": 1, "model": "toy", "dims": 64, "provider": "static", "vectorStore": "vec0"}
    assert expected.items() <= status.detail.items()
    assert status.detail["sizeBytes"] > 0


def test_vectors_follow_edits_and_removals(semantic: Desk) -> None:
    """The matrix in memory forgets removed chunks and learns new ones without a restart."""
    semantic.write("memory/a.md", "my car is red\n")
    semantic.write("memory/b.md", "bread needs flour\n")
    semantic.sync()
    assert semantic.paths("automobile") == ["memory/a.md"]
    (semantic.workspace / "memory/a.md").unlink()
    semantic.write("memory/c.md", "the vehicle is red\n")
    semantic.sync()
    assert semantic.paths("automobile") == ["memory/c.md"]


def test_without_sqlite_vec_the_results_are_the_same(make_desk: Callable[..., Desk]) -> None:
    """An extension that cannot load leaves numpy, and status says so."""
    desk = make_desk(ToyEmbedder(), extension_path="/nonexistent/vec0")
    desk.write("memory/a.md", "my car is red\n")
    desk.sync()
    assert desk.paths("automobile") == ["memory/a.md"]
    assert desk.backend.status().detail["vectorStore"] == "numpy"


def test_a_passed_deadline_is_a_timeout(desk: Desk) -> None:
    """No time left is `timeout`, not an empty answer."""
    desk.write("memory/a.md", "x\n")
    desk.sync()
    with pytest.raises(BackendError) as late:
        desk.answer("x", timeout_s=-1.0)
    assert late.value.failure is Failure.TIMEOUT


def test_closing_twice_is_harmless(desk: Desk) -> None:
    """After `close` a search fails as `index_lost`."""
    desk.write("memory/a.md", "x\n")
    desk.sync()
    asyncio.run(desk.backend.close())
    asyncio.run(desk.backend.close())
    with pytest.raises(BackendError):
        desk.answer("x")


def test_statistics_serve_another_engine(desk: Desk) -> None:
    """Word frequencies are those of the index; without one there are none."""
    assert desk.backend.statistics() is None
    desk.write("memory/a.md", "zebra zebra\n")
    desk.write("memory/b.md", "zebra comet\n")
    desk.sync()
    statistics = desk.backend.statistics()
    assert statistics is not None
    assert (statistics.documents, statistics.frequency("zebra"), statistics.frequency("nothing")) == (2, 2, 0)


@pytest.mark.parametrize(("shown", "path"), [("memory/clips/", "memory/clips/a.md"), ("qmd/c/", "qmd/c/a.md")])
def test_whose_a_file_is_does_not_wait_for_the_next_sync(desk: Desk, shown: str, path: str) -> None:
    """A folder that was taken out of another one is not trusted by what the index remembers."""
    desk.write("memory/clips/a.md", "zebracomet\n")
    desk.sync()
    clips = desk.workspace / "memory" / "clips"
    root = Root(name="c", kind=Kind.EXTRA, path=clips, patterns=("**/*.md",), shown=shown, trusted=False)
    corpus = replace(desk.job.corpus, roots=(root, *desk.job.corpus.roots))
    desk.backend = BuiltinBackend(corpus=corpus, options=desk.job.options, writer=desk.writer, pool=desk.pool)
    (hit,) = desk.answer("zebracomet").hits
    assert (hit.path, hit.root, hit.trusted) == (path, "c", False)


def test_a_job_survives_json(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What the worker reads is what the daemon wrote."""
    home = tmp_path_factory.mktemp("job")
    root = Root(name="r", kind=Kind.EXTRA, path=home, patterns=("**/*.md",), shown="qmd/r/", trusted=False)
    options = BuiltinOptions(index=home / "i.sqlite", extension_path=home / "vec0", embedding=EmbeddingSpec(model="m"))
    job = IndexJob(corpus=Corpus("main", home, (root,)), options=options, force=True, embed=False)
    assert IndexJob.from_json(job.to_json()) == job
