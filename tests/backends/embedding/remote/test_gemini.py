"""The Gemini API: batches of contents, tasks by field or in the text, keys in no address."""

from __future__ import annotations

import base64
from urllib.parse import urlsplit

import numpy as np
import orjson
import pytest

from backends.embedding.base import EmbeddingSpec, EmbeddingUnavailableError, Side
from backends.embedding.remote.gemini import wire_for
from backends.embedding.remote.wire import RefusedError, Reply, Request, Trouble
from tests.backends.embedding.remote.serving import drops_last, vector_of
from tests.backends.embedding.remote.serving_gemini import GeminiSpeech
from tests.backends.embedding.remote.wiring import provider_of, reply_of

SECOND = "gemini-embedding-2-preview"


def sent(request: Request) -> list[dict[str, object]]:
    requests: list[dict[str, object]] = orjson.loads(request.body)["requests"]
    return requests


def test_each_text_is_a_content_of_its_own_with_the_task_of_its_side() -> None:
    request = wire_for(EmbeddingSpec(provider="gemini")).request(["one", "two"], Side.DOCUMENT)
    assert request.url == (
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-embedding-001:batchEmbedContents"
    )
    shared = {"model": "models/gemini-embedding-001", "taskType": "RETRIEVAL_DOCUMENT"}
    assert sent(request) == [{**shared, "content": {"parts": [{"text": text}]}} for text in ("one", "two")]


def test_a_question_has_the_task_of_a_query() -> None:
    assert sent(wire_for(EmbeddingSpec()).request(["why?"], Side.QUERY))[0]["taskType"] == "RETRIEVAL_QUERY"


def test_tasks_can_be_named_by_the_configuration() -> None:
    wire = wire_for(EmbeddingSpec(query_input_type="CODE_RETRIEVAL_QUERY"))
    assert sent(wire.request(["why?"], Side.QUERY))[0]["taskType"] == "CODE_RETRIEVAL_QUERY"
    assert sent(wire.request(["so"], Side.DOCUMENT))[0]["taskType"] == "RETRIEVAL_DOCUMENT"


@pytest.mark.parametrize(
    ("side", "text"),
    [(Side.QUERY, "task: search result | query: tea"), (Side.DOCUMENT, "title: none | text: tea")],
)
def test_the_second_generation_is_told_its_task_in_the_text(side: Side, text: str) -> None:
    asked = sent(wire_for(EmbeddingSpec(model=SECOND, query_input_type="RETRIEVAL_QUERY")).request(["tea"], side))
    assert asked == [{"model": f"models/{SECOND}", "content": {"parts": [{"text": text}]}}]


def test_shorter_vectors_are_asked_for_with_each_content() -> None:
    asked = sent(wire_for(EmbeddingSpec(dims=768)).request(["one", "two"], Side.DOCUMENT))
    assert [each["outputDimensionality"] for each in asked] == [768, 768]


@pytest.mark.parametrize(("model", "dims"), [(SECOND, 1024), ("gemini-embedding-2", 128), (None, 64), (None, 4096)])
def test_a_length_that_the_model_does_not_give_is_refused_before_anything_is_asked(
    model: str | None, dims: int
) -> None:
    with pytest.raises(EmbeddingUnavailableError) as refused:
        wire_for(EmbeddingSpec(model=model, dims=dims))
    assert refused.value.code == "dims_unsupported"
    assert "outputDimensionality" in refused.value.hint


def test_limits_are_those_of_the_model() -> None:
    first, second = (wire_for(EmbeddingSpec(model=model)).limits for model in (None, SECOND))
    assert (first.texts, first.text_tokens) == (100, 2048)
    assert (second.texts, second.text_tokens) == (100, 8192)


@pytest.mark.parametrize(
    ("base_url", "before"),
    [
        ("https://generativelanguage.googleapis.com/", "https://generativelanguage.googleapis.com/v1beta"),
        ("https://proxy.example/v1beta/openai/", "https://proxy.example/v1beta"),
        ("http://127.0.0.1:8080/google/v1", "http://127.0.0.1:8080/google/v1"),
    ],
)
def test_a_base_url_is_taken_as_people_write_it(base_url: str, before: str) -> None:
    request = wire_for(EmbeddingSpec(base_url=base_url)).request(["one"], Side.DOCUMENT)
    assert request.url == f"{before}/models/gemini-embedding-001:batchEmbedContents"


@pytest.mark.parametrize("name", ["models/gemini-embedding-001", "google/gemini-embedding-001"])
def test_a_model_may_be_named_with_its_owner(name: str) -> None:
    asked = sent(wire_for(EmbeddingSpec(model=name)).request(["one"], Side.DOCUMENT))
    assert asked[0]["model"] == "models/gemini-embedding-001"


def test_a_key_is_no_part_of_the_address() -> None:
    request = wire_for(EmbeddingSpec(api_key="secret-key")).request(["one"], Side.QUERY)
    assert urlsplit(request.url).query == ""
    assert "secret-key" not in request.url


def test_vectors_come_in_the_order_of_the_texts() -> None:
    wire = wire_for(EmbeddingSpec())
    reply = reply_of(provider_of(GeminiSpeech()), wire.request(["one", "two"], Side.DOCUMENT))
    expected = np.array([vector_of(text, 3072) for text in ("one", "two")])
    assert np.array_equal(wire.vectors(reply, 2), expected)


def test_a_vector_too_few_is_refused() -> None:
    wire = wire_for(EmbeddingSpec())
    reply = reply_of(provider_of(GeminiSpeech(), drops_last), wire.request(["one", "two"], Side.DOCUMENT))
    with pytest.raises(RefusedError, match="2 vectors") as refused:
        wire.vectors(reply, 2)
    assert refused.value.trouble is Trouble.REPLY


@pytest.mark.parametrize(
    "body",
    [b"{}", b'{"embeddings": {"values": [1]}}', b'{"embeddings": [[1]]}', b'{"embeddings": [{"values": "1"}]}', b"<p>"],
)
def test_a_reply_of_another_shape_is_refused(body: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        wire_for(EmbeddingSpec()).vectors(Reply(200, body), 1)
    assert refused.value.trouble is Trouble.REPLY


@pytest.mark.parametrize("mime", ["image/png", "audio/mpeg"])
def test_an_image_or_a_recording_becomes_one_vector(mime: str) -> None:
    wire = wire_for(EmbeddingSpec(model=SECOND, dims=768))
    request = wire.media_request(mime, b"\x89\x00")
    encoded = base64.b64encode(b"\x89\x00").decode()
    part = {"inline_data": {"mime_type": mime, "data": encoded}}
    assert sent(request) == [{"model": f"models/{SECOND}", "content": {"parts": [part]}, "outputDimensionality": 768}]
    reply = reply_of(provider_of(GeminiSpeech()), request)
    assert np.array_equal(wire.vectors(reply, 1), [vector_of(encoded, 768)])


def test_a_model_for_texts_is_sent_no_image() -> None:
    wire = wire_for(EmbeddingSpec())
    assert not wire.reads_media
    with pytest.raises(RefusedError) as refused:
        wire.media_request("image/png", b"x")
    assert refused.value.trouble is Trouble.MODEL


def test_what_is_neither_image_nor_audio_is_not_sent() -> None:
    with pytest.raises(RefusedError) as refused:
        wire_for(EmbeddingSpec(model=SECOND)).media_request("text/html", b"x")
    assert refused.value.trouble is Trouble.TEXT
