"""Jobs of batch APIs: what is submitted, what is resumed, what comes of each text, and when it is given up."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from backends.embedding.base import BatchSpec
from backends.embedding.remote.batch.gemini import GeminiBatches
from backends.embedding.remote.batch.openai import openai_batches
from backends.embedding.remote.batch.runner import BatchGivenUp, BatchRunner
from backends.embedding.remote.batch.voyage import voyage_batches
from backends.embedding.remote.batch.wire import BatchLimits, BatchWire, Job, Result
from backends.embedding.remote.wire import RefusedError, Request, Send, Trouble
from tests.backends.embedding.remote.batch.serving import (
    Fate,
    Provider,
    after,
    at_once,
    never,
    provided,
    vector,
)
from tests.backends.embedding.remote.loopback import send

TEXTS = {"d1": "one", "d2": "three", "d3": "é\n\u2028\r\nlines"}
Wired = Callable[[str], BatchWire]
WIRES: dict[str, Wired] = {
    "openai": lambda url: openai_batches("m", base_url=url),
    "voyage": lambda url: voyage_batches("m", base_url=url),
    "gemini": lambda url: GeminiBatches("m", base_url=f"{url}/v1beta"),
}


class Memory:
    """A store that keeps jobs as the JSON that a file would hold."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def save(self, job: Job) -> None:
        self.kept[job.id] = json.dumps(job.to_json())

    def load(self) -> list[Job]:
        return [Job.from_json(json.loads(text)) for text in self.kept.values()]

    def forget(self, job: Job) -> None:
        del self.kept[job.id]


class Time:
    """Unix time that passes only while a runner sleeps."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Key:
    """A key in a header, which another replaces when it is refused and there is one."""

    def __init__(self, *later: str) -> None:
        self.key, self.later = "first", list(later)

    def signed(self, request: Request, send: Send) -> Request:
        return replace(request, headers={**request.headers, "authorization": f"Bearer {self.key}"})

    def renewed(self) -> bool:
        if not self.later:
            return False
        self.key = self.later.pop(0)
        return True


@dataclass
class World:
    """A provider, and what outlives a process."""

    provider: Provider
    wired: Wired
    store: Memory = field(default_factory=Memory)
    time: Time = field(default_factory=Time)
    credentials: Key = field(default_factory=Key)

    def runner(self, *, spec: BatchSpec | None = None, job_texts: int = 1000, key: str = "k") -> BatchRunner:
        """A runner such as a new process has."""
        return BatchRunner(
            self.wired(self.provider.server.url),
            self.credentials,
            send,
            self.store,
            key=key,
            spec=spec or BatchSpec(),
            job_texts=job_texts,
            clock=self.time.clock,
            sleep=self.time.sleep,
        )

    def run(self, texts: dict[str, str] = TEXTS, **options: object) -> dict[str, Result]:
        return {result.digest: result for result in self.runner(**options).run(texts)}  # type: ignore[arg-type]

    def submitted(self) -> list[list[str]]:
        """The digests of each job, as the provider has them."""
        return [[line.get("custom_id") or line["metadata"]["key"] for line in job.lines] for job in self.provider.jobs]


@pytest.fixture(params=WIRES)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with provided(Provider()) as provider:
        yield World(provider, WIRES[request.param])


@pytest.fixture
def openai() -> Iterator[World]:
    with provided(Provider(base64=True)) as provider:
        yield World(provider, WIRES["openai"])


def unit(text: str) -> list[float]:
    row = np.array(vector(text), dtype=np.float32)
    return [float(value) for value in row / np.linalg.norm(row)]


def test_every_text_gets_its_own_unit_vector(world: World) -> None:
    """Whatever the order of the results."""
    results = world.run()
    assert {digest: unit(text) for digest, text in TEXTS.items()} == {
        digest: pytest.approx(result.vector.tolist()) for digest, result in results.items() if result.vector is not None
    }
    assert world.submitted() == [["d1", "d2", "d3"]]
    assert world.store.kept == {}


def test_a_result_told_twice_or_of_another_text_is_not_given_on(openai: World) -> None:
    """One result for each text of the job."""
    openai.provider.strange = True
    assert sorted(result.digest for result in openai.runner().run(TEXTS)) == sorted(TEXTS)


def test_every_request_is_signed(world: World) -> None:
    world.run()
    assert {came.headers.get("authorization") for came in world.provider.server.came} == {"Bearer first"}


def test_a_killed_run_is_taken_up_and_nothing_is_paid_twice(world: World) -> None:
    """Another runner with the same store polls the job that was submitted, and submits none."""
    world.provider.script = [after(2)]
    assert list(world.runner(spec=BatchSpec(wait=False)).run(TEXTS)) == []
    assert len(world.store.kept) == 1
    assert world.run().keys() == TEXTS.keys()
    assert len(world.provider.jobs) == 1
    assert world.store.kept == {}


def test_a_run_that_dies_while_its_results_are_taken_finds_them_again(openai: World) -> None:
    """A job is forgotten only after the last of its results was taken."""
    with closing(openai.runner().run(TEXTS)) as run:
        next(run)
    assert len(openai.store.kept) == 1
    assert openai.run().keys() == TEXTS.keys()
    assert len(openai.provider.jobs) == 1


def test_a_taken_up_job_gives_results_also_for_texts_that_nobody_holds_any_more(openai: World) -> None:
    openai.provider.script = [after(1)]
    list(openai.runner(spec=BatchSpec(wait=False)).run(TEXTS))
    assert openai.run({"d9": "new"}).keys() == {*TEXTS, "d9"}
    assert openai.submitted() == [["d1", "d2", "d3"], ["d9"]]


def test_jobs_of_another_model_are_left_alone(openai: World) -> None:
    openai.provider.script = [never, at_once]
    list(openai.runner(spec=BatchSpec(wait=False), key="other").run(TEXTS))
    assert openai.run().keys() == TEXTS.keys()
    assert [job.key for job in openai.store.load()] == ["other"]


def test_no_more_jobs_are_under_way_than_allowed(openai: World) -> None:
    """The next one waits until one ended."""
    openai.provider.script = [never]
    list(openai.runner(spec=BatchSpec(wait=False, concurrency=2), job_texts=1).run(TEXTS))
    assert openai.submitted() == [["d1"], ["d2"]]


def test_all_texts_are_done_in_turn(openai: World) -> None:
    openai.provider.script = [after(1), after(2), at_once]
    assert openai.run(spec=BatchSpec(concurrency=2), job_texts=1).keys() == TEXTS.keys()
    assert openai.submitted() == [["d1"], ["d2"], ["d3"]]


def test_pauses_between_polls_double_up_to_five_minutes(openai: World) -> None:
    openai.provider.script = [after(9)]
    openai.run(spec=BatchSpec(poll_interval_s=2.0))
    assert openai.time.slept == [2, 4, 8, 16, 32, 64, 128, 256, 300]


def test_a_text_that_is_refused_says_why_and_the_others_have_vectors(world: World) -> None:
    """By status and code; what the provider says of the text is not repeated."""
    world.provider.refused = {"three": (400, "content_filter")}
    results = world.run()
    assert results["d2"].vector is None
    assert results["d2"].refused in ("status 400, content_filter", "INVALID_ARGUMENT")
    assert results["d1"].vector is not None
    assert len(world.provider.jobs) == 1


def test_a_vector_that_is_none_costs_one_text_only(openai: World) -> None:
    openai.provider.broken = {"three"}
    results = openai.run()
    assert results["d2"].refused == "no finite numbers"
    assert results["d1"].vector is not None


def test_a_text_that_failed_in_passing_is_tried_again(openai: World) -> None:
    """A status of overload says nothing of the text."""
    openai.provider.refused = {"three": (429, "rate_limit_exceeded")}
    with pytest.raises(BatchGivenUp):
        openai.run()
    assert openai.submitted() == [["d1", "d2", "d3"], ["d2"]]


def test_what_an_expired_job_had_done_is_kept_and_the_rest_submitted_again(openai: World) -> None:
    openai.provider.script = [after(1, "expired"), at_once]
    openai.provider.undone = {"three"}
    results = []
    for result in openai.runner().run(TEXTS):
        results.append(result.digest)
        openai.provider.undone = set()
    assert sorted(results) == ["d1", "d2", "d3"]
    assert openai.submitted() == [["d1", "d2", "d3"], ["d2"]]


@pytest.mark.parametrize("state", ["failed", "expired"])
def test_two_failed_jobs_are_the_end_of_batches(world: World, state: str) -> None:
    """For this process: a later run submits none, and says so at once."""
    world.provider.script = [after(0, state)]
    world.provider.undone = set(TEXTS.values())
    runner = world.runner()
    for _ in range(2):
        with pytest.raises(BatchGivenUp):
            list(runner.run(TEXTS))
    assert len(world.provider.jobs) == 2
    assert world.store.kept == {}


def test_jobs_under_way_are_awaited_before_batches_are_given_up(openai: World) -> None:
    """They are paid for."""
    fates: list[Fate] = [after(0, "failed"), after(3), after(0, "failed"), at_once]
    openai.provider.script = fates
    got: list[str] = []
    with pytest.raises(BatchGivenUp):
        for result in openai.runner(spec=BatchSpec(concurrency=2), job_texts=1).run(TEXTS):
            got.append(result.digest)
    assert got == ["d2"]
    assert len(openai.provider.jobs) == 3


def test_a_failure_before_a_success_does_not_count(openai: World) -> None:
    openai.provider.script = [after(0, "failed"), at_once, after(0, "failed"), at_once]
    assert openai.run(spec=BatchSpec(concurrency=1), job_texts=1).keys() == TEXTS.keys()


def test_a_job_that_runs_out_of_time_is_cancelled_and_batches_given_up(world: World) -> None:
    """Waiting as long for another would help nobody."""
    world.provider.script = [never]
    with pytest.raises(BatchGivenUp):
        world.run(spec=BatchSpec(timeout_s=60))
    assert [job.cancelled for job in world.provider.jobs] == [True]
    assert world.store.kept == {}
    assert 60 <= sum(world.time.slept) < 130


def test_a_job_taken_up_after_its_time_is_still_asked_once(openai: World) -> None:
    """It may have ended while nobody was there."""
    openai.provider.script = [after(1)]
    list(openai.runner(spec=BatchSpec(wait=False)).run(TEXTS))
    openai.time.now += 1_000_000
    assert openai.run(spec=BatchSpec(timeout_s=60)).keys() == TEXTS.keys()
    assert not openai.provider.jobs[0].cancelled


@pytest.mark.parametrize("start", ["/batches/", "/files/"])
def test_passing_troubles_while_polling_or_downloading_cost_no_job(openai: World, start: str) -> None:
    openai.provider.statuses = {("GET", start): [503, 429, 503]}
    assert openai.run().keys() == TEXTS.keys()
    assert len(openai.provider.jobs) == 1


def test_results_that_make_no_sense_are_downloaded_again(openai: World) -> None:
    """Half a file, or a page of a proxy."""
    openai.provider.statuses = {("GET", "/files/"): [200]}
    assert openai.run().keys() == TEXTS.keys()
    assert len(openai.provider.jobs) == 1


def test_a_job_that_the_provider_does_not_know_is_submitted_again(openai: World) -> None:
    openai.provider.statuses = {("GET", "/batches/"): [404]}
    assert openai.run().keys() == TEXTS.keys()
    assert len(openai.provider.jobs) == 2


@pytest.mark.parametrize("start", ["/files", "/batches"])
def test_a_failed_submission_is_tried_once_more(openai: World, start: str) -> None:
    """Not at once, and not for ever."""
    openai.provider.statuses = {("POST", start): [503]}
    assert openai.run().keys() == TEXTS.keys()
    assert openai.time.slept
    openai.provider.statuses = {("POST", start): [503, 503, 503]}
    with pytest.raises(BatchGivenUp):
        openai.run()


def test_a_refused_key_ends_the_run_and_keeps_its_jobs(openai: World) -> None:
    """Neither another job nor a direct call would fare better."""
    openai.provider.statuses = {("GET", "/batches/"): [401]}
    with pytest.raises(RefusedError) as refused:
        openai.run()
    assert refused.value.trouble is Trouble.KEY
    assert openai.run().keys() == TEXTS.keys()
    assert len(openai.provider.jobs) == 1


def test_a_key_that_can_be_renewed_is_renewed(openai: World) -> None:
    openai.credentials = Key("second")
    openai.provider.statuses = {("GET", "/batches/"): [401]}
    assert openai.run().keys() == TEXTS.keys()
    assert openai.provider.server.came[-1].headers["authorization"] == "Bearer second"


def limited(world: World, size: int) -> None:
    """Let jobs hold so many bytes."""
    wired = world.wired
    limits = BatchLimits(requests=1000, bytes=size)
    world.wired = lambda url: replace(wired(url), limits=limits)  # type: ignore[type-var]


@pytest.mark.parametrize(("spare", "jobs"), [(0, 1), (-1, 2)])
def test_a_job_is_filled_to_the_byte(world: World, spare: int, jobs: int) -> None:
    """Two records and the byte between them fit exactly, or the second goes into a job of its own."""
    texts = {"d1": "x" * 300, "d2": "é" * 200}
    wire = world.wired("http://127.0.0.1")
    limited(world, sum(len(wire.record(digest, text)) for digest, text in texts.items()) + 1 + spare)
    assert world.run(texts).keys() == texts.keys()
    assert len(world.provider.jobs) == jobs
    if jobs == 1 and "file-in" in world.provider.files:
        assert len(world.provider.files["file-in"]) == world.wired("").limits.bytes


def test_a_text_that_no_job_has_room_for_is_refused_alone(world: World) -> None:
    limited(world, 1000)
    results = world.run({"d1": "one", "d2": "x" * 1000})
    assert results["d2"].refused == "larger than a job"
    assert results["d1"].vector is not None


def test_no_texts_are_no_job(world: World) -> None:
    assert world.run({}) == {}
    assert world.provider.server.came == []
