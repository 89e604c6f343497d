"""Two engines behind a breaker: who answers, in time, and what the answer says about it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from backends.base import (
    Answer,
    BackendError,
    BackendStatus,
    Failure,
    Hit,
    Mode,
    Query,
    SyncReport,
    SyncRequest,
)
from backends.breaker import State
from backends.corpus import Kind
from backends.failover import FAIR_S, PROBE_WORDS, Failover

Act = Callable[[Query], Awaitable[Answer]]


def hit(path: str, start: int, end: int, score: float) -> Hit:
    """A passage of one file."""
    return Hit(
        root="memory-dir",
        relative=path,
        path=path,
        kind=Kind.DAILY,
        trusted=True,
        start_line=start,
        end_line=end,
        snippet="text",
        score=score,
    )


@dataclass
class Engine:
    """An engine whose behaviour is a function, and which remembers what it was asked."""

    name: str
    act: Act
    asked: list[Query] = field(default_factory=list)
    ready: bool = True

    async def search(self, query: Query) -> Answer:
        """Behave as told."""
        self.asked.append(query)
        return await self.act(query)

    async def sync(self, request: SyncRequest) -> SyncReport:
        """One changed file."""
        return SyncReport(engine=self.name, ran=True, changed=1)

    def status(self) -> BackendStatus:
        """Ready unless told otherwise."""
        return BackendStatus(backend=self.name, ready=self.ready)

    async def close(self) -> None:
        """Nothing to close."""


def answering(name: str, *hits: Hit) -> Act:
    """Answer at once."""

    async def act(query: Query) -> Answer:
        return Answer(hits=hits, engine=name, via="test", mode=query.mode)

    return act


def failing(failure: Failure) -> Act:
    """Fail at once."""

    async def act(query: Query) -> Answer:
        raise BackendError(failure, "as told")

    return act


async def deaf(query: Query) -> Answer:
    """Never answer, and ignore every deadline."""
    await asyncio.Event().wait()
    raise AssertionError


async def punctual(query: Query) -> Answer:
    """Hang, but keep the deadline that was given."""
    await asyncio.sleep(max(0.0, query.deadline_at - time.monotonic()))
    raise BackendError(Failure.TIMEOUT, "too late")


def question(timeout_s: float = 5.0) -> Query:
    """A search with `timeout_s` seconds to go."""
    return Query(
        text="where is it", max_results=6, min_score=0, max_chars=700, deadline_at=time.monotonic() + timeout_s
    )


def pair(act: Act, **options: Any) -> tuple[Failover, Engine, Engine]:
    """A first engine that behaves as told, and a second that always answers."""
    first, second = Engine("qmd", act), Engine("builtin", answering("builtin"))
    return Failover(first, second, **options), first, second


async def until(condition: Callable[[], bool], *, deadline_s: float = 10.0) -> None:
    """Wait for a condition, and fail when it does not come."""
    async with asyncio.timeout(deadline_s):
        while not condition():
            await asyncio.sleep(0.01)


def test_a_working_first_engine_answers_alone() -> None:
    """The second engine is not even asked."""

    async def scenario() -> None:
        both, _, second = pair(answering("qmd"))
        answer = await both.search(question())
        assert (answer.engine, answer.fallback, second.asked) == ("qmd", None, [])
        await both.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("failure", [failure for failure in Failure if failure is not Failure.TIMEOUT])
def test_the_failing_call_itself_is_answered_and_says_why(failure: Failure) -> None:
    """Whatever the first engine says, the caller gets the second one's answer with the reason."""

    async def scenario() -> None:
        both, _, _ = pair(failing(failure))
        answer = await both.search(question())
        assert answer.engine == "builtin"
        assert answer.fallback is not None
        assert (answer.fallback.origin, answer.fallback.reason) == ("qmd", failure)
        await both.close()

    asyncio.run(scenario())


@pytest.mark.alone
@pytest.mark.parametrize("hanging", [deaf, punctual])
def test_a_hanging_engine_is_replaced_before_the_deadline(hanging: Act) -> None:
    """The second engine starts beside it and its answer is there in time."""

    async def scenario() -> None:
        both, _, _ = pair(hanging)
        query = question(1.0)
        answer = await both.search(query)
        assert time.monotonic() < query.deadline_at
        assert answer.fallback is not None
        assert answer.fallback.reason is Failure.TIMEOUT
        await both.close()

    asyncio.run(scenario())


def test_one_late_answer_does_not_open_the_breaker_but_two_in_a_row_do() -> None:
    """A single time-out is weather."""

    async def scenario() -> None:
        both, first, _ = pair(punctual)
        await both.search(question(1.2 * FAIR_S))
        assert both.breaker.closed
        await both.search(question(1.2 * FAIR_S))
        assert not both.breaker.closed
        await both.search(question(1.2 * FAIR_S))
        assert len(first.asked) == 2, "an open breaker asks the first engine nothing"
        await both.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("timeout_s", [-1.0, 0.05])
def test_callers_with_hardly_any_time_open_nothing(timeout_s: float) -> None:
    """Being late for them says nothing about the first engine; the second still answers if it can."""

    async def scenario() -> None:
        both, first, _ = pair(punctual)
        for _ in range(3):
            assert (await both.search(question(timeout_s))).engine == "builtin"
        assert both.breaker.closed
        assert len(first.asked) == 3
        await both.close()

    asyncio.run(scenario())


def test_a_late_answer_after_a_good_one_starts_the_count_again() -> None:
    """Time-outs count only in a row."""

    async def scenario() -> None:
        both, first, _ = pair(punctual)
        await both.search(question(1.2 * FAIR_S))
        first.act = answering("qmd")
        await both.search(question())
        first.act = punctual
        await both.search(question(1.2 * FAIR_S))
        assert both.breaker.closed
        await both.close()

    asyncio.run(scenario())


def test_a_recovered_engine_is_used_again_without_a_restart() -> None:
    """A probe through the real search path, with fixed words, closes the breaker."""

    async def scenario() -> None:
        both, first, _ = pair(failing(Failure.EXITED))
        await both.search(question())
        first.act = answering("qmd")
        await until(lambda: both.breaker.closed)
        probe = first.asked[-1]
        assert (probe.text, probe.mode, probe.max_chars) == (PROBE_WORDS, Mode.SEARCH, 700)
        assert (await both.search(question())).engine == "qmd"
        assert both.status().fallback is None
        await both.close()

    asyncio.run(scenario())


def test_a_switch_is_told_when_it_happens_and_when_it_is_over() -> None:
    """With the reason, and once."""

    async def scenario() -> list[str | None]:
        told: list[str | None] = []
        both, first, _ = pair(failing(Failure.EXITED), on_switch=lambda why: told.append(why and why.reason))
        await both.search(question())
        await both.search(question())
        first.act = answering("qmd")
        await until(lambda: None in told)
        await both.close()
        return told

    assert asyncio.run(scenario()) == [Failure.EXITED, None]


def test_probes_that_fail_come_at_growing_pauses_and_name_the_newest_reason() -> None:
    """The pause doubles; since stays."""

    async def scenario() -> None:
        both, first, _ = pair(failing(Failure.EXITED))
        answer = await both.search(question())
        first.act = failing(Failure.LOCKED)
        await until(lambda: both.breaker.state is State.OPEN and both.breaker.pause_s == 2.0)
        fallback = both.status().fallback
        assert fallback is not None
        assert answer.fallback is not None
        assert (fallback.reason, fallback.since) == (Failure.LOCKED, answer.fallback.since)
        await both.close()

    asyncio.run(scenario())


@pytest.mark.alone
def test_a_pause_is_cut_short_when_something_was_healed() -> None:
    """A sync that went well is a better moment for a probe than the end of a long pause."""

    async def scenario() -> None:
        both, first, _ = pair(failing(Failure.INDEX_LOST))
        await both.search(question())
        await until(lambda: both.breaker.pause_s >= 2.0)
        first.act = answering("qmd")
        started = time.monotonic()
        await until(lambda: both.breaker.state is State.OPEN)
        both.wake()
        await until(lambda: both.breaker.closed)
        assert time.monotonic() - started < both.breaker.pause_s
        await both.close()

    asyncio.run(scenario())


def test_status_says_why_the_breaker_is_open_and_when_it_is_probed() -> None:
    """Reason, since and the next probe in Unix seconds: what an operator needs to decide whether to wait."""

    async def scenario() -> None:
        both = Failover(
            Engine("qmd", failing(Failure.LOCKED)), Engine("builtin", answering("builtin")), wall=lambda: 7.0
        )
        assert both.status().detail["breaker"] == {"of": "qmd", "state": "closed", "optional": False}
        await both.search(question())
        facts = {"of": "qmd", "state": "open", "optional": False, "reason": "locked", "since": 7.0}
        assert both.status().detail["breaker"] == facts | {"nextProbeAt": 8.0}
        await until(lambda: both.breaker.state is State.OPEN and both.breaker.pause_s == 2.0)
        assert both.status().detail["breaker"] == facts | {"nextProbeAt": 9.0}
        await both.close()

    asyncio.run(scenario())


def test_status_names_the_engine_that_is_ready() -> None:
    """Before the first engine's index is built, the second one is what answers."""
    first, second = Engine("qmd", answering("qmd"), ready=False), Engine("builtin", answering("builtin"))
    both = Failover(first, second)
    assert (both.status().backend, both.status().ready) == ("builtin", True)
    second.ready = False
    assert both.status().backend == "qmd"


@pytest.mark.alone
def test_a_wake_during_a_probe_is_not_lost() -> None:
    """The probe under way may have looked before the healing."""

    async def scenario() -> None:
        both, first, _ = pair(failing(Failure.INDEX_LOST))
        await both.search(question())
        looking, go_on = asyncio.Event(), asyncio.Event()

        async def look_too_early(query: Query) -> Answer:
            looking.set()
            await go_on.wait()
            raise BackendError(Failure.INDEX_LOST, "as told")

        first.act = look_too_early
        await looking.wait()
        both.wake()
        first.act = answering("qmd")
        started = time.monotonic()
        go_on.set()
        await until(lambda: both.breaker.closed)
        assert time.monotonic() - started < both.breaker.pause_s
        await both.close()

    asyncio.run(scenario())


def test_a_first_engine_that_was_only_wanted_if_present_is_told_and_marked_optional() -> None:
    """The answer says which engine was not there; `optional` keeps it from being a degradation."""

    async def scenario() -> None:
        both, _, _ = pair(failing(Failure.MISSING), optional=True)
        fallback = (await both.search(question())).fallback
        assert fallback is not None
        assert fallback.reason is Failure.MISSING
        assert both.status().detail["breaker"]["optional"]
        await both.close()

    asyncio.run(scenario())


def test_when_no_engine_can_answer_the_error_is_typed() -> None:
    """Both down: a `BackendError`, not whatever the second one raised inside."""

    async def scenario() -> None:
        both = Failover(Engine("qmd", failing(Failure.MISSING)), Engine("builtin", failing(Failure.INDEX_LOST)))
        with pytest.raises(BackendError) as caught:
            await both.search(question())
        assert caught.value.failure is Failure.INDEX_LOST
        await both.close()

    asyncio.run(scenario())


def test_merge_keeps_the_best_passages_of_both_and_no_line_twice() -> None:
    """Of two passages that share lines the better one stays."""

    async def scenario() -> None:
        first = Engine("qmd", answering("qmd", hit("a.md", 1, 4, 0.5), hit("b.md", 1, 2, 0.4)))
        second = Engine("builtin", answering("builtin", hit("a.md", 3, 6, 0.9), hit("c.md", 1, 1, 0.1)))
        both = Failover(first, second, merge=True)
        answer = await both.search(question())
        assert [(h.path, h.score) for h in answer.hits] == [("a.md", 0.9), ("b.md", 0.4), ("c.md", 0.1)]
        await both.close()

    asyncio.run(scenario())


def test_a_merge_without_the_second_engine_says_so() -> None:
    """The first one's hits stand, and nobody takes them for those of both."""

    async def scenario() -> None:
        first = Engine("qmd", answering("qmd", hit("a.md", 1, 4, 0.5)))
        both = Failover(first, Engine("builtin", failing(Failure.INDEX_LOST)), merge=True)
        answer = await both.search(question())
        assert ([h.path for h in answer.hits], answer.fallback) == (["a.md"], None)
        assert [notice.code for notice in answer.notices] == ["merge_unfinished"]
        await both.close()

    asyncio.run(scenario())


def test_a_sync_reaches_both_engines() -> None:
    """The second choice stays fresh while the first one answers."""

    async def scenario() -> None:
        both, _, _ = pair(answering("qmd"))
        report = await both.sync(SyncRequest(reason="test"))
        assert (report.engine, report.changed) == ("builtin+qmd", 2)
        await both.close()

    asyncio.run(scenario())


def test_closing_ends_the_probes() -> None:
    """No task is left behind."""

    async def scenario() -> None:
        both, _, _ = pair(failing(Failure.EXITED))
        await both.search(question())
        await both.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(scenario())
