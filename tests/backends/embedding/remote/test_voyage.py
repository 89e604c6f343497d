"""Voyage AI: sides by name, packed vectors, limits by model."""

from __future__ import annotations

import numpy as np
import orjson
import pytest

from backends.embedding.base import EmbeddingSpec, EmbeddingUnavailableError, Side
from backends.embedding.remote.voyage import wire_for
from backends.embedding.remote.wire import RefusedError, Reply, Trouble
from tests.backends.embedding.remote.serving import drops_last, vector_of
from tests.backends.embedding.remote.serving_voyage import VoyageSpeech
from tests.backends.embedding.remote.wiring import provider_of, reply_of


@pytest.mark.parametrize(("side", "input_type"), [(Side.QUERY, "query"), (Side.DOCUMENT, "document")])
def test_texts_are_sent_with_their_side_and_asked_for_in_base64(side: Side, input_type: str) -> None:
    request = wire_for(EmbeddingSpec(provider="voyage")).request(["one", "two"], side)
    assert request.url == "https://api.voyageai.com/v1/embeddings"
    assert orjson.loads(request.body) == {
        "model": "voyage-4-large",
        "input": ["one", "two"],
        "input_type": input_type,
        "encoding_format": "base64",
    }


def test_input_types_can_be_named_by_the_configuration() -> None:
    request = wire_for(EmbeddingSpec(document_input_type="query")).request(["one"], Side.DOCUMENT)
    assert orjson.loads(request.body)["input_type"] == "query"


def test_vectors_of_another_length_are_asked_for() -> None:
    wire = wire_for(EmbeddingSpec(dims=256))
    request = wire.request(["one"], Side.DOCUMENT)
    assert orjson.loads(request.body)["output_dimension"] == 256
    assert wire.vectors(reply_of(provider_of(VoyageSpeech()), request), 1).shape == (1, 256)


def test_a_length_that_the_model_does_not_give_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(EmbeddingUnavailableError) as refused:
        wire_for(EmbeddingSpec(model="voyage-4-lite", dims=768))
    assert refused.value.code == "dims_unsupported"
    assert "256, 512, 1024 or 2048" in refused.value.hint


@pytest.mark.parametrize(
    ("model", "tokens", "text_tokens"),
    [
        (None, 120_000, 32_000),
        ("voyage-4", 320_000, 32_000),
        ("voyage-4-lite", 1_000_000, 32_000),
        ("voyage-law-2", 120_000, 16_000),
        ("voyage-2", 320_000, 4_000),
        ("voyage-of-tomorrow", 120_000, 32_000),
    ],
)
def test_limits_are_those_of_the_model(model: str | None, tokens: int, text_tokens: int) -> None:
    limits = wire_for(EmbeddingSpec(model=model)).limits
    assert (limits.texts, limits.tokens, limits.text_tokens) == (1000, tokens, text_tokens)


@pytest.mark.parametrize(
    ("spec", "url"),
    [
        (EmbeddingSpec(api_key="pa-key"), "https://api.voyageai.com/v1/embeddings"),
        (EmbeddingSpec(api_key="al-key"), "https://ai.mongodb.com/v1/embeddings"),
        (EmbeddingSpec(api_key="al-key", base_url="http://proxy.example/v1/"), "http://proxy.example/v1/embeddings"),
    ],
)
def test_a_key_is_sent_to_the_address_that_knows_it(spec: EmbeddingSpec, url: str) -> None:
    assert wire_for(spec).request(["one"], Side.QUERY).url == url


def test_packed_vectors_come_in_the_order_of_the_texts() -> None:
    wire = wire_for(EmbeddingSpec())
    reply = reply_of(provider_of(VoyageSpeech()), wire.request(["one", "two"], Side.DOCUMENT))
    answered = orjson.loads(reply.body)
    answered["data"].reverse()
    expected = np.array([vector_of(text, 1024) for text in ("one", "two")])
    assert np.array_equal(wire.vectors(reply, 2), expected)
    assert np.array_equal(wire.vectors(Reply(200, orjson.dumps(answered)), 2), expected)


def test_a_vector_too_few_is_refused() -> None:
    wire = wire_for(EmbeddingSpec())
    reply = reply_of(provider_of(VoyageSpeech(), drops_last), wire.request(["one", "two"], Side.DOCUMENT))
    with pytest.raises(RefusedError, match="2 vectors") as refused:
        wire.vectors(reply, 2)
    assert refused.value.trouble is Trouble.REPLY


@pytest.mark.parametrize("body", [b"{}", b'{"data": {}}', b'{"data": [[1]]}', b'{"data": [{"embedding": 1}]}', b"no"])
def test_a_reply_of_another_shape_is_refused(body: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        wire_for(EmbeddingSpec()).vectors(Reply(200, body), 1)
    assert refused.value.trouble is Trouble.REPLY
