"""What a sync would have to embed, known beforehand: each estimate is held against the sync that follows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import apsw
import pytest

from backends.base import BackendError, Failure
from backends.builtin import EmbeddingSpec, Estimate, estimate
from backends.builtin.successor import successor_of
from backends.embedding import EmbeddingIdentity, expected
from backends.embedding.static import MODEL
from backends.text.costs import token_cost
from tests.backends.builtin.conftest import Desk, ToyEmbedder

STATIC = EmbeddingSpec(provider="static")
HOSTED = EmbeddingSpec(provider="openai-compatible", model="m", base_url="http://127.0.0.1:9/v1")


class Killed(BaseException):
    """What a kill looks like from within."""


def embedder_of(spec: EmbeddingSpec) -> ToyEmbedder:
    """A toy with the identity that the provider of a specification would have."""
    whose, toy = expected(spec), ToyEmbedder()
    assert whose
    toy.identity = EmbeddingIdentity(provider=whose.provider, model=whose.model or "", dims=64, key=whose.key or "")
    return toy


@pytest.fixture
def desk(make_desk: Callable[..., Desk]) -> Desk:
    """Six notes of several chunks each, and nothing indexed."""
    desk = make_desk(embedder_of(STATIC), embedding=STATIC, chunk_tokens=60, chunk_overlap=0)
    for number in range(6):
        desk.write(f"memory/{number}.md", note(number))
    return desk


def note(number: int) -> str:
    lines = (f"Harbour {number}, pier {line}: the boat leaves at {line} past nine." for line in range(12))
    return "\n".join(lines) + "\n"


def estimated(desk: Desk) -> Estimate:
    return asyncio.run(desk.backend.estimate())


def chunk_texts(desk: Desk) -> set[str]:
    with apsw.Connection(str(desk.index)) as connection:
        return {text for (text,) in connection.execute("SELECT text FROM chunks")}


def kept_by(desk: Desk, *, done_before: int = 0) -> Estimate:
    """The estimate, once the sync that follows has sent just those texts."""
    beforehand = estimated(desk)
    model = desk.writer.embedder
    assert isinstance(model, ToyEmbedder)
    model.texts.clear()
    report = desk.sync()
    # Single lines are sent, too, to measure where cosines lie.
    sent = [text for text in model.texts if text in chunk_texts(desk)]
    assert (beforehand.chunks, beforehand.tokens) == (len(sent), sum(map(token_cost, sent)))
    assert beforehand.chunks + beforehand.cached == report.embedded + done_before
    return beforehand


def test_a_first_sync_embeds_everything(desk: Desk) -> None:
    """By the provider that is configured, and whose model is known without asking it."""
    told = kept_by(desk)
    assert (told.provider, told.model, told.hosted, told.rebuild) == ("static", MODEL, False, False)
    assert (told.files, told.cached, told.kept) == (6, 0, 0)
    assert told.chunks > 12


def test_an_index_that_is_up_to_date_needs_nothing(desk: Desk) -> None:
    """Every chunk has its vector."""
    desk.sync()
    told = kept_by(desk)
    assert (told.files, told.chunks, told.tokens, told.cached) == (0, 0, 0, 0)
    assert told.kept == len(chunk_texts(desk))


def test_a_changed_note_needs_what_is_new_in_it(desk: Desk) -> None:
    """Its other chunks, and all other notes, keep theirs."""
    desk.sync()
    desk.write("memory/3.md", note(3) + "One more line about the new ferry, which is a blue one.\n")
    told = kept_by(desk)
    assert (told.files, told.chunks) == (1, 1)
    assert told.kept == len(chunk_texts(desk)) - 1


def test_a_text_that_stands_in_two_notes_is_sent_once(desk: Desk) -> None:
    """Also when both are new."""
    desk.write("memory/copy.md", note(0))
    told = kept_by(desk)
    assert told.files == 6
    assert told.cached == told.chunks // 6


def test_another_provider_needs_everything_again(desk: Desk) -> None:
    """The surprise that this is there to prevent."""
    desk.sync()
    desk.writer.embedder = embedder_of(HOSTED)
    desk.reopened(embedding=HOSTED)
    told = kept_by(desk)
    assert (told.provider, told.model, told.hosted, told.rebuild) == ("openai-compatible", "m", True, True)
    assert (told.files, told.chunks, told.kept) == (6, len(chunk_texts(desk)), 0)


def test_a_provider_that_was_there_before_needs_little(desk: Desk) -> None:
    """Its vectors are in the cache, which the index takes along."""
    for spec in (STATIC, HOSTED):
        desk.writer.embedder = embedder_of(spec)
        desk.reopened(embedding=spec)
        desk.sync()
    desk.writer.embedder = embedder_of(STATIC)
    desk.reopened(embedding=STATIC)
    told = kept_by(desk)
    assert (told.rebuild, told.chunks, told.cached) == (True, 0, len(chunk_texts(desk)))


def test_another_address_is_another_provider(desk: Desk) -> None:
    """Nobody knows whether the same name is the same model there."""
    desk.writer.embedder = embedder_of(HOSTED)
    desk.reopened(embedding=HOSTED)
    desk.sync()
    moved = EmbeddingSpec(provider="openai-compatible", model="m", base_url="http://127.0.0.1:10/v1")
    desk.writer.embedder = embedder_of(moved)
    desk.reopened(embedding=moved)
    assert kept_by(desk).rebuild


@pytest.mark.parametrize("cache", [50_000, 0])
def test_another_cut_needs_what_becomes_another_text(desk: Desk, cache: int) -> None:
    """Without a cache nothing is taken along."""
    desk.write("memory/short.md", "Two lines\nthat are cut in no way.\n")
    desk.reopened(cache_entries=cache)
    desk.sync()
    desk.reopened(cache_entries=cache, chunk_tokens=90)
    told = kept_by(desk)
    assert told.rebuild
    assert (told.cached > 0) is bool(cache)


def test_what_a_killed_build_has_is_not_needed_again(desk: Desk) -> None:
    """The next sync goes on with it."""
    for number in range(200):
        desk.write(f"memory/more-{number}.md", f"more about boat {number}\n")
    desk.sync()
    desk.writer.embedder = embedder_of(HOSTED)
    desk.reopened(embedding=HOSTED)
    everything = estimated(desk).chunks

    def kill(progress: dict[str, Any]) -> None:
        if progress["phase"] == "vectors":
            raise Killed

    with pytest.raises(Killed):
        desk.run(kill)
    told = kept_by(desk, done_before=ToyEmbedder.batch_texts)
    assert 0 < told.chunks < everything


def test_a_deleted_note_needs_nothing(desk: Desk) -> None:
    """What the index holds of it does not count."""
    desk.sync()
    desk.writer.embedder = embedder_of(HOSTED)
    desk.reopened(embedding=HOSTED)
    (desk.workspace / "memory" / "5.md").unlink()
    assert kept_by(desk).files == 5


def test_an_estimate_writes_nothing_and_loads_nothing(desk: Desk) -> None:
    """Neither where there is no index nor where it would be replaced."""
    desk.writer.embedder = None
    assert estimated(desk).files == 6
    assert not desk.index.parent.exists()
    desk.writer.embedder = embedder_of(STATIC)
    desk.sync()
    before = desk.index.read_bytes()
    desk.writer.embedder = None
    desk.reopened(embedding=HOSTED)
    assert estimated(desk).files == 6
    assert desk.index.read_bytes() == before
    assert not successor_of(desk.index).exists()


def test_an_estimate_can_be_had_while_a_sync_runs(desk: Desk) -> None:
    """It sees what is done by then."""
    seen: list[Estimate] = []

    def look(progress: dict[str, Any]) -> None:
        if progress["phase"] == "vectors":
            seen.append(estimate(desk.job))

    desk.run(look)
    assert (seen[-1].chunks, seen[-1].kept) == (0, len(chunk_texts(desk)))


def test_keywords_alone_need_nothing(desk: Desk) -> None:
    """By choice of the provider, or without vectors at all."""
    desk.reopened(embedding=EmbeddingSpec(provider="none"))
    assert estimated(desk) == Estimate(provider="none")
    desk.reopened(vector_enabled=False)
    assert estimated(desk) == Estimate(provider="none")


def test_a_provider_that_cannot_be_is_told(desk: Desk) -> None:
    """As the sync would tell it."""
    desk.reopened(embedding=EmbeddingSpec(provider="clairvoyance"))
    with pytest.raises(BackendError) as unknown:
        estimated(desk)
    assert (unknown.value.failure, unknown.value.code) == (Failure.EMBEDDING, "unknown_provider")


def test_a_damaged_index_is_as_good_as_none(desk: Desk) -> None:
    """The sync would set it aside and begin anew."""
    desk.sync()
    desk.index.write_bytes(b"junk" * 1000)
    assert kept_by(desk).files == 6


def test_a_strangers_file_is_refused(desk: Desk) -> None:
    """The sync would not touch it either."""
    desk.index.parent.mkdir()
    desk.index.write_text("somebody's diary\n" * 100, encoding="utf-8")
    with pytest.raises(BackendError) as foreign:
        estimated(desk)
    assert foreign.value.failure is Failure.INDEX_LOST
