"""An embedder with a batch interface: the same vectors by a job as by direct calls, and one store for both lives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import orjson
import pytest

from backends.embedding import EmbeddingSpec, EmbeddingUnavailableError
from backends.embedding.base import BatchSpec
from backends.embedding.remote.batch.wire import Job
from backends.embedding.remote.creation import create_remote
from backends.embedding.remote.embedder import RemoteEmbedder
from backends.embedding.remote.wire import Reply, Request
from tests.backends.embedding.remote.batch.serving import Provider, never, provided, vector
from tests.backends.embedding.remote.batch.test_runner import Memory
from tests.backends.embedding.remote.loopback import send

TEXTS = {"d1": "one", "d2": "three", "d3": "word " * 40_000}
KEY = "sk-do-not-tell"
WAITING = BatchSpec()
PATHS = {"openai": "", "voyage": "", "gemini": "/v1beta"}


def sending(request: Request, timeout_s: float) -> Reply:
    """Direct calls are answered here, everything else by the provider of batches."""
    if request.url.endswith("/embeddings"):
        texts = orjson.loads(request.body)["input"]
        data = [{"index": at, "embedding": vector(text)} for at, text in enumerate(texts)]
        return Reply(200, orjson.dumps({"data": data}))
    if request.url.endswith(":batchEmbedContents"):
        parts = [each["content"]["parts"][0]["text"] for each in orjson.loads(request.body)["requests"]]
        return Reply(200, orjson.dumps({"embeddings": [{"values": vector(text)} for text in parts]}))
    return send(request)


def made(brand: str, provider: Provider, batch: BatchSpec | None = WAITING) -> RemoteEmbedder:
    address = provider.server.url + PATHS[brand]
    spec = EmbeddingSpec(provider=brand, base_url=address, api_key=KEY, batch=batch)
    return create_remote(spec, send=sending)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with provided(Provider()) as provider:
        yield provider


@pytest.mark.parametrize("brand", PATHS)
def test_a_job_gives_the_vectors_of_direct_calls(provider: Provider, brand: str) -> None:
    """Unit vectors of the same texts, cut as they are otherwise; the key goes along."""
    embedder, store = made(brand, provider), Memory()
    runner = embedder.jobs(store, lambda seconds: None)
    assert runner is not None
    found = {result.digest: result.vector for result in runner.run(TEXTS)}
    for (_, row), direct in zip(sorted(found.items()), embedder.embed(list(TEXTS.values())), strict=True):
        assert row is not None
        assert np.allclose(row, direct, atol=1e-6)
    assert len(provider.jobs) == 1
    assert store.load() == []
    assert all(KEY in str(came.headers) for came in provider.server.came)


def test_another_life_waits_for_the_job_of_the_first(provider: Provider) -> None:
    """It is not submitted again; another account's job is not ours."""
    provider.script = [never]
    store = Memory()
    first = made("openai", provider, BatchSpec(wait=False)).jobs(store, lambda seconds: None)
    assert first is not None
    assert list(first.run(TEXTS)) == []
    provider.jobs[0].fate = lambda poll: "completed"
    second = made("openai", provider, BatchSpec(wait=False)).jobs(store, lambda seconds: None)
    assert second is not None
    assert {result.digest for result in second.run(TEXTS)} == set(TEXTS)
    assert len(provider.jobs) == 1


def test_without_a_wish_for_batches_there_are_none(provider: Provider) -> None:
    """Nor for one that has given up."""
    assert made("openai", provider, None).jobs(Memory(), lambda seconds: None) is None
    embedder = made("openai", provider)
    embedder.gave_up()
    assert embedder.jobs(Memory(), lambda seconds: None) is None


def test_a_refused_key_is_the_end_of_all_calls(provider: Provider) -> None:
    """With the code that a direct call has."""
    provider.statuses[("POST", "/files")] = [401, 401]
    runner = made("openai", provider).jobs(Memory(), lambda seconds: None)
    assert runner is not None
    with pytest.raises(EmbeddingUnavailableError) as raised:
        list(runner.run(TEXTS))
    assert raised.value.code == "embedding_key_refused"
    assert KEY not in str(raised.value)


def test_jobs_in_a_store_hold_no_text_and_no_key(provider: Provider) -> None:
    """They lie in a file."""
    provider.script = [never]
    store = Memory()
    runner = made("openai", provider, BatchSpec(wait=False)).jobs(store, lambda seconds: None)
    assert runner is not None
    list(runner.run(TEXTS))
    (job,) = store.load()
    assert isinstance(job, Job)
    assert not any(word in str(store.kept) for word in (KEY, "three", "word"))
