"""Two embedding providers: the second answers while the first is down, with vectors of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from backends.base import Answer, BackendError, Failure, Query, SyncReport, SyncRequest
from backends.builtin import BuiltinBackend, BuiltinOptions, EmbeddingSpec, QueryVector
from backends.builtin.second_provider import PATIENCE_S, RETRY_S, SecondProvider
from backends.embedding import Embedder, EmbeddingUnavailableError, Vectors
from tests.backends.builtin.conftest import Desk, InProcessWriter, ToyEmbedder


class Failing(ToyEmbedder):
    """A provider that is there or not."""

    code = ""

    def embed(self, texts: Any) -> Vectors:
        if self.code:
            raise EmbeddingUnavailableError(self.code, "The provider refuses.", hint="Top up.")
        return super().embed(texts)


class TellingWriter(InProcessWriter):
    """A writer that fails as the worker does, and counts the questions that it was given."""

    questions = 0

    async def embed_query(self, spec: EmbeddingSpec, text: str) -> QueryVector | None:
        self.questions += 1
        try:
            return await super().embed_query(spec, text)
        except EmbeddingUnavailableError as error:
            raise BackendError(Failure.EMBEDDING, error.message, hint=error.hint, code=error.code) from error


class Pair:
    """One agent with two providers, `first` and `second`."""

    def __init__(self, desk: Desk, first: Embedder, second: Embedder, *, required: bool = True) -> None:
        self.desk = desk
        self.now = 1000.0
        self.writers = [TellingWriter(first), TellingWriter(second)]
        spec = EmbeddingSpec(provider="static", required=required)
        self.backends = [
            BuiltinBackend(
                corpus=desk.job.corpus,
                options=BuiltinOptions(index=desk.index.with_name(f"{name}.sqlite"), embedding=each),
                writer=writer,
                pool=desk.pool,
            )
            for name, writer, each in zip(("main", "second"), self.writers, (spec, EmbeddingSpec()), strict=True)
        ]
        self.both = SecondProvider(*self.backends, provider="first", wall=lambda: self.now)

    def ask(self, text: str) -> Answer:
        query = Query(text=text, max_results=6, min_score=0.35, max_chars=700, deadline_at=time.monotonic() + 10.0)
        return asyncio.run(self.both.search(query))

    def sync(self) -> SyncReport:
        return asyncio.run(self.both.sync(SyncRequest(reason="test")))


@pytest.fixture
def pair(make_desk: Callable[..., Desk]) -> Pair:
    desk = make_desk()
    desk.write("memory/car.md", "my car is red\n")
    desk.write("memory/boat.md", "the boat is in the harbour\n")
    return Pair(desk, Failing("first"), ToyEmbedder("second"))


def embedders(pair: Pair) -> tuple[Failing, ToyEmbedder]:
    first, second = (writer.embedder for writer in pair.writers)
    assert isinstance(first, Failing)
    assert isinstance(second, ToyEmbedder)
    return first, second


def test_a_first_provider_that_works_is_the_only_one(pair: Pair) -> None:
    """The second is sent nothing, and has no index."""
    pair.sync()
    answer = pair.ask("automobile")
    assert (answer.model, answer.embedding_fallback) == ("first", None)
    assert embedders(pair)[1].texts == []
    assert not pair.desk.index.with_name("second.sqlite").exists()


def test_a_first_provider_that_fails_a_sync_hands_over(pair: Pair) -> None:
    """The answer has vectors, and says whose and why."""
    embedders(pair)[0].code = "embedding_quota"
    assert "second provider" in pair.sync().detail
    answer = pair.ask("automobile")
    assert [hit.path for hit in answer.hits] == ["memory/car.md"]
    assert answer.model == "second"
    assert answer.embedding_fallback is not None
    assert (answer.embedding_fallback.origin, answer.embedding_fallback.reason) == ("first", "embedding_quota")


def test_words_answer_until_the_second_index_is_there(pair: Pair) -> None:
    """With the reason: a provider that fails for a moment is no cause to embed everything again."""
    pair.sync()
    embedders(pair)[0].code = "embedding_timeout"
    answer = pair.ask("harbour")
    assert [hit.path for hit in answer.hits] == ["memory/boat.md"]
    assert (answer.partial, answer.provider) == (True, None)
    assert [notice.code for notice in answer.notices] == ["embedding_timeout"]
    pair.sync()
    assert embedders(pair)[1].texts == []
    pair.now += PATIENCE_S
    pair.sync()
    assert pair.ask("automobile").model == "second"


def test_a_provider_that_is_down_is_asked_now_and_then(pair: Pair) -> None:
    """Not by every question, and used again as soon as it answers, with the vectors that it has."""
    pair.sync()
    first, _ = embedders(pair)
    first.code = "embedding_timeout"
    for _ in range(5):
        pair.ask("automobile")
    assert pair.writers[0].questions == 1
    first.code, given = "", list(first.texts)
    pair.now += RETRY_S
    answer = pair.ask("automobile")
    assert (answer.model, answer.embedding_fallback) == ("first", None)
    assert first.texts == [*given, "automobile"]
    assert pair.both.status().detail.get("embeddingFallback") is None


def test_the_second_index_knows_the_words_of_notes_that_came_while_the_first_answered(pair: Pair) -> None:
    """Once it was made: or a note would be gone in the moment in which it has to answer."""
    first, second = embedders(pair)
    first.code = "embedding_timeout"
    pair.sync()
    first.code = ""
    pair.now += RETRY_S
    pair.sync()
    pair.desk.write("memory/new.md", "the giraffe of Lisbon\n")
    given = list(second.texts)
    pair.sync()
    assert second.texts == given
    assert pair.ask("giraffe").model == "first"
    first.code = "embedding_timeout"
    answer = pair.ask("giraffe")
    assert answer.embedding_fallback is not None
    assert [hit.path for hit in answer.hits] == ["memory/new.md"]


def test_when_both_are_down_each_is_told_once(pair: Pair) -> None:
    """Words answer."""
    embedders(pair)[0].code = "embedding_key_refused"
    pair.writers[1].embedder = failing = Failing("second")
    failing.code = "embedding_unreachable"
    report = pair.sync()
    assert "second provider" not in report.detail
    assert "embedding_unreachable" in report.detail
    answer = pair.ask("harbour")
    assert [hit.path for hit in answer.hits] == ["memory/boat.md"]
    assert sorted(notice.code for notice in answer.notices) == ["embedding_key_refused", "embedding_unreachable"]


def test_without_a_second_a_required_provider_that_fails_is_an_error(pair: Pair) -> None:
    """Also where it never gave a vector: keywords alone would pass for an answer."""
    embedders(pair)[0].code = "embedding_key_refused"
    alone = pair.backends[0]
    asyncio.run(alone.sync(SyncRequest(reason="test")))
    query = Query(text="harbour", max_results=6, min_score=0.35, max_chars=700, deadline_at=time.monotonic() + 10.0)
    with pytest.raises(BackendError) as raised:
        asyncio.run(alone.search(query))
    assert (raised.value.failure, raised.value.code) == (Failure.EMBEDDING, "embedding_key_refused")


def test_a_provider_that_is_not_required_degrades_to_words(make_desk: Callable[..., Desk]) -> None:
    """With its own code."""
    desk = make_desk()
    desk.write("memory/boat.md", "the boat is in the harbour\n")
    pair = Pair(desk, Failing("first"), ToyEmbedder("second"), required=False)
    alone = pair.backends[0]
    asyncio.run(alone.sync(SyncRequest(reason="test")))
    embedders(pair)[0].code = "embedding_unreachable"
    query = Query(text="harbour", max_results=6, min_score=0.35, max_chars=700, deadline_at=time.monotonic() + 10.0)
    answer = asyncio.run(alone.search(query))
    assert [hit.path for hit in answer.hits] == ["memory/boat.md"]
    assert [notice.code for notice in answer.notices] == ["embedding_unreachable"]


def test_an_index_without_vectors_follows_the_notes(make_desk: Callable[..., Desk]) -> None:
    """The second provider never answered: what is deleted must leave its index all the same."""
    desk = make_desk()
    first, second = Failing(), Failing()
    first.code = second.code = "quota"
    pair = Pair(desk, first, second)
    note = desk.write("memory/a.md", "zebracomet\n")
    pair.sync()
    note.unlink()
    first.code = ""
    pair.sync()
    files = desk.index.parent.glob("second.sqlite*")
    assert b"zebracomet" not in b"".join(file.read_bytes() for file in files)
