"""Whether a provider really answers, asked through the worker's own process over real connections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from backends.builtin import EmbeddingSpec
from sidecar.probing import Prober
from sidecar.shapes import embedding_json
from sidecar.worker.process import Worker
from tests.backends.embedding.remote.serving import Provider, drips, fails, serving
from tests.backends.embedding.remote.speeches import OpenAISpeech

DEADLINE_S = 60
STATIC = EmbeddingSpec(provider="static")


@pytest.fixture
def provider() -> Iterator[Provider]:
    """An API on loopback that embeds."""
    with serving(OpenAISpeech(length=24)) as provider:
        yield provider


def hosted(provider: Provider) -> EmbeddingSpec:
    return EmbeddingSpec(provider="openai-compatible", model="m", base_url=provider.url)


def run(scenario: Callable[[Worker], Awaitable[None]]) -> None:
    """Run a scenario with a worker of its own, and a deadline."""

    async def limited() -> None:
        worker = Worker()
        try:
            async with asyncio.timeout(DEADLINE_S):
                await scenario(worker)
        finally:
            await worker.close()

    asyncio.run(limited())


def test_a_provider_that_works_gives_one_vector(provider: Provider) -> None:
    """Whose it is, how long it is, and how long it took."""

    async def scenario(worker: Worker) -> None:
        told = embedding_json(await Prober(worker).probe([hosted(provider)]))
        assert {**told, "tookMs": 0} == {"provider": "openai-compatible", "model": "m", "dims": 24, "tookMs": 0}
        assert told["tookMs"] > 0
        assert {text for batch in provider.batches for text in batch} == {"memory"}, "no word of anybody's notes"

    run(scenario)


def test_what_a_provider_says_is_told_with_the_next_step(provider: Provider) -> None:
    """Its own code, and nothing that was sent."""
    provider.always.append(fails(401, "invalid_api_key", "Incorrect API key provided"))

    async def scenario(worker: Worker) -> None:
        told = embedding_json(await Prober(worker).probe([hosted(provider)]))
        assert (told["provider"], told["error"]["code"]) == ("openai-compatible", "embedding_key_refused")
        assert told["error"]["action"]

    run(scenario)


def test_a_provider_that_was_mended_is_asked_again_at_once(provider: Provider) -> None:
    """Searches leave one alone that has just failed; whoever asks how it is wants to know how it is now."""
    provider.always.append(fails(401, "invalid_api_key"))

    async def scenario(worker: Worker) -> None:
        prober, spec = Prober(worker), hosted(provider)
        assert "error" in embedding_json(await prober.probe([spec]))
        provider.always.clear()
        assert embedding_json(await prober.probe([spec]))["dims"] == 24
        assert await worker.embed_query(spec, "boats") is not None, "and searches use it again"

    run(scenario)


def test_a_silent_provider_is_given_up_at_the_deadline_and_keeps_nobody_waiting(provider: Provider) -> None:
    """Another provider answers meanwhile, and the worker lives on."""
    provider.always.append(drips)

    async def scenario(worker: Worker) -> None:
        assert await worker.embed_query(STATIC, "warm up") is not None
        prober = Prober(worker, deadline_s=1.0)
        silent = asyncio.create_task(prober.probe([hosted(provider)]))
        while not provider.asked:
            await asyncio.sleep(0.01)
        assert embedding_json(await prober.probe([STATIC]))["provider"] == "static"
        assert not silent.done()
        error = embedding_json(await silent)["error"]
        assert error["code"] == "embedding_timeout"
        assert "within 1 s" in error["message"], "and not when its own time is over"
        assert await worker.embed_query(STATIC, "boats") is not None

    run(scenario)


def test_all_who_ask_together_share_one_embedding(provider: Provider) -> None:
    """Thirty agents of one provider cost it what one does."""

    async def scenario(worker: Worker) -> None:
        prober, spec = Prober(worker), hosted(provider)
        await prober.probe([spec])
        provider.forget()
        answers = await asyncio.gather(*(prober.probe([spec]) for _ in range(30)))
        assert {answer[0].provider for answer in answers} == {"openai-compatible"}
        assert len(provider.asked) == 1
        await prober.probe([spec])
        assert len(provider.asked) == 2, "but an answer is not kept"

    run(scenario)


def test_a_second_choice_is_tried_as_well(provider: Provider) -> None:
    """It must be known to work before the first fails."""
    provider.always.append(fails(500))

    async def scenario(worker: Worker) -> None:
        told = embedding_json(await Prober(worker, deadline_s=5.0).probe([hosted(provider), STATIC]))
        assert told["error"]
        assert (told["second"]["provider"], told["second"]["dims"]) == ("static", 256)

    run(scenario)


def test_keywords_alone_are_no_fault_and_start_nothing() -> None:
    """`none` is a choice."""

    async def scenario(worker: Worker) -> None:
        told = embedding_json(await Prober(worker).probe([EmbeddingSpec(provider="none")]))
        assert told == {"provider": "none", "detail": "keywords only, on purpose"}
        assert worker.status()["state"] == "stopped"

    run(scenario)
