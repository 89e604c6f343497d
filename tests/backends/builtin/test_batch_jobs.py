"""Many texts go to the provider as jobs: their vectors come into the index, once, whatever happens meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

import apsw
import numpy as np
import pytest

from backends.builtin import batch_jobs
from backends.embedding.remote.batch.runner import BatchGivenUp, JobStore
from backends.embedding.remote.batch.wire import Job, Result
from tests.backends.builtin.conftest import Desk, ToyEmbedder


class Provider:
    """Jobs of one provider: each holds the texts of one run. They end when `done`, and outlive whoever submitted."""

    def __init__(self) -> None:
        self.submitted: list[dict[str, str]] = []
        self.done = True
        self.refuses: str = ""
        self.broken = False
        self.waits = False


class Jobs:
    """The runner's part, without the protocol: submits once, gives results when the job is done."""

    def __init__(self, provider: Provider, store: JobStore, toy: ToyEmbedder, sleep: Callable[[float], None]) -> None:
        self.provider, self.store, self.toy, self.sleep = provider, store, toy, sleep

    @property
    def has_jobs(self) -> bool:
        return any(job.key == "k" for job in self.store.load())

    def run(self, texts: Mapping[str, str]) -> Iterator[Result]:
        if self.provider.broken:
            raise BatchGivenUp
        waiting = [job for job in self.store.load() if job.key == "k"]
        if not waiting:
            self.provider.submitted.append(dict(texts))
            waiting = [Job(f"job-{len(self.provider.submitted)}", "k", tuple(texts), time.time())]
            self.store.save(waiting[0])
        while not self.provider.done:
            if not self.provider.waits:
                return
            self.sleep(0.01)
        for job in waiting:
            for digest in job.digests:
                text = self.provider.submitted[int(job.id[4:]) - 1][digest]
                if self.provider.refuses and self.provider.refuses in text:
                    yield Result(digest, refused="too long")
                else:
                    yield Result(digest, vector=ToyEmbedder.embed(self.toy, [text])[0])
            self.store.forget(job)


class ByJobs(ToyEmbedder):
    """A model with a batch interface; `texts` are those of direct calls."""

    def __init__(self, provider: Provider) -> None:
        super().__init__()
        self.provider = provider
        self.quiet = ToyEmbedder()
        self.off = False

    def jobs(self, store: JobStore, sleep: Callable[[float], None]) -> Any:
        return None if self.off else Jobs(self.provider, store, self.quiet, sleep)

    def gave_up(self) -> None:
        self.off = True


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Provider:
    monkeypatch.setattr(batch_jobs, "FEWEST_TEXTS", 5)
    return Provider()


def filled(make_desk: Callable[..., Desk], model: ToyEmbedder, notes: int = 12, **options: Any) -> Desk:
    desk = make_desk(model, **options)
    for number in range(notes):
        desk.write(f"memory/{number}.md", f"# Note\n\nmy car number {number}\n")
    return desk


def measured(model: ToyEmbedder) -> bool:
    """Whether direct calls were made for nothing but the lines that are measured."""
    return all("\n" not in text.strip() for text in model.texts)


def test_many_texts_go_as_a_job_and_their_vectors_are_the_same(
    make_desk: Callable[..., Desk], provider: Provider
) -> None:
    """No chunk is embedded by a direct call."""
    desk = filled(make_desk, model := ByJobs(provider))
    assert desk.sync().embedded == 12
    assert [len(texts) for texts in provider.submitted] == [12]
    assert measured(model)
    assert desk.answer("automobile number 3").hits[0].vector_score is not None


def test_few_texts_do_not_wait_for_a_job(make_desk: Callable[..., Desk], provider: Provider) -> None:
    """Somebody has just written them."""
    desk = filled(make_desk, ByJobs(provider), notes=4)
    assert desk.sync().embedded == 4
    assert provider.submitted == []


def test_a_job_that_goes_on_is_waited_for_by_later_syncs_and_paid_once(
    make_desk: Callable[..., Desk], provider: Provider
) -> None:
    """Meanwhile words find the notes, the notice says why, and no direct call is made beside it."""
    provider.done = False
    desk = filled(make_desk, model := ByJobs(provider))
    for _ in range(3):
        assert desk.sync().embedded == 0
        assert [notice.code for notice in desk.backend.status().notices] == ["embedding_batch"]
    assert desk.paths("car")
    assert model.texts == []
    provider.done = True
    desk.writer.embedder = another = ByJobs(provider)
    assert desk.sync().embedded == 12
    assert (len(provider.submitted), measured(another), desk.backend.status().notices) == (1, True, ())


def test_what_a_job_gave_is_kept_before_the_job_is_forgotten(
    make_desk: Callable[..., Desk], provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill right after the provider's results came costs none of them."""

    class Killed(BaseException):
        pass

    forget = batch_jobs.IndexJobStore.forget

    def killed(store: batch_jobs.IndexJobStore, job: Job) -> None:
        forget(store, job)
        raise Killed

    desk = filled(make_desk, ByJobs(provider))
    monkeypatch.setattr(batch_jobs.IndexJobStore, "forget", killed)
    with pytest.raises(Killed):
        desk.run()
    monkeypatch.undo()
    assert desk.sync().embedded == 12
    assert len(provider.submitted) == 1


def test_what_a_job_refuses_is_tried_directly_and_not_as_a_job_again(
    make_desk: Callable[..., Desk], provider: Provider
) -> None:
    """The rest is not held up."""
    provider.refuses = "number 7"
    desk = filled(make_desk, model := ByJobs(provider))
    assert desk.sync().embedded == 12
    assert len(provider.submitted) == 1
    assert ["number 7" in text for text in model.texts if "# Note" in text] == [True]


def test_jobs_that_do_not_work_give_way_to_direct_calls(make_desk: Callable[..., Desk], provider: Provider) -> None:
    """For the life of the model."""
    provider.broken = True
    desk = filled(make_desk, model := ByJobs(provider))
    assert desk.sync().embedded == 12
    assert model.off


def test_without_a_cache_there_is_no_place_for_results_and_no_job(
    make_desk: Callable[..., Desk], provider: Provider
) -> None:
    """Texts are embedded directly."""
    desk = filled(make_desk, ByJobs(provider), cache_entries=0)
    assert desk.sync().embedded == 12
    assert provider.submitted == []


def test_a_vector_of_a_job_is_the_one_that_a_direct_call_gives(
    make_desk: Callable[..., Desk], provider: Provider
) -> None:
    """Bit by bit."""
    by_jobs, direct = filled(make_desk, ByJobs(provider)), filled(make_desk, ToyEmbedder())
    by_jobs.sync()
    direct.sync()
    scores = [[hit.vector_score for hit in desk.answer("automobile number 3").hits] for desk in (by_jobs, direct)]
    assert np.allclose(*scores)


def test_a_sync_waits_for_jobs_for_a_while_and_not_for_hours(
    make_desk: Callable[..., Desk], provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written meanwhile must be found."""
    monkeypatch.setattr(batch_jobs, "LONGEST_WAIT_S", 0.1)
    provider.done, provider.waits = False, True
    desk = filled(make_desk, ByJobs(provider))
    desk.sync()
    desk.write("memory/new.md", "zebracomet\n")
    desk.sync()
    assert desk.paths("zebracomet") == ["memory/new.md"]
    provider.done = True
    assert desk.sync().embedded == 13
    assert [len(texts) for texts in provider.submitted] == [12]


def test_an_index_whose_vectors_are_still_made_takes_no_place(
    make_desk: Callable[..., Desk], provider: Provider
) -> None:
    """The one before it has all of its vectors, and goes on answering."""
    desk = filled(make_desk, ToyEmbedder())
    desk.sync()
    provider.done = False
    desk.writer.embedder = another = ByJobs(provider)
    another.identity = ToyEmbedder("another", 32).identity
    another.quiet = ToyEmbedder("another", 32)
    desk.sync()
    assert desk.backend.status().detail["model"] == "toy"
    provider.done = True
    assert desk.sync().detail.startswith("index_replaced")
    assert (desk.backend.status().detail["model"], len(provider.submitted)) == ("another", 1)


def test_the_job_of_another_account_holds_nothing_up(make_desk: Callable[..., Desk], provider: Provider) -> None:
    """It is not ours to wait for, and is forgotten in time."""
    desk = filled(make_desk, ByJobs(provider))
    desk.sync()
    with closing(apsw.Connection(str(desk.index))) as connection:
        store = batch_jobs.IndexJobStore(connection)
        store.save(Job("theirs", "another key", ("d",), time.time()))
        store.save(Job("ancient", "another key", ("d",), 1.0))
    desk.write("memory/new.md", "zebracomet\n")
    assert desk.sync().embedded == 1
    assert desk.backend.status().notices == ()
    with closing(apsw.Connection(str(desk.index))) as connection:
        assert [job.id for job in batch_jobs.IndexJobStore(connection).load()] == ["theirs"]
