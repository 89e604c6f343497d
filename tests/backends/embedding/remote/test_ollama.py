"""Ollama: prefixes in the texts, and servers that know the older path only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import orjson
import pytest

from backends.embedding.base import EmbeddingSpec, Side
from backends.embedding.remote.creation import create_remote
from backends.embedding.remote.ollama import EitherVersion, wire_for
from backends.embedding.remote.wire import RefusedError, Reply, Request, Trouble
from tests.backends.embedding.remote.serving import (
    Provider,
    drops_last,
    refuses_text,
    serving,
    unit_of,
    vector_of,
)
from tests.backends.embedding.remote.serving_ollama import (
    OLDER_PATH,
    PATH,
    OllamaSpeech,
    has_no_model,
    has_no_path,
    is_older,
)
from tests.backends.embedding.remote.wiring import provider_of, reply_of

TEXTS = ["one", "two"]
PLAIN = EmbeddingSpec(provider="ollama", model="all-minilm")


def to(provider: Provider) -> Callable[[Request, float], Reply]:
    return lambda request, timeout_s: reply_of(provider, request)


@pytest.mark.parametrize(
    ("side", "texts"),
    [
        (Side.QUERY, ["search_query: one", "search_query: two"]),
        (Side.DOCUMENT, ["search_document: one", "search_document: two"]),
    ],
)
def test_texts_are_sent_with_the_prefix_of_their_side_and_may_be_cut(side: Side, texts: list[str]) -> None:
    request = wire_for(EmbeddingSpec(provider="ollama")).request(TEXTS, side)
    assert request.url == "http://127.0.0.1:11434/api/embed"
    assert orjson.loads(request.body) == {"model": "nomic-embed-text", "input": texts, "truncate": True}


def test_a_model_without_known_prefixes_reads_texts_as_they_are() -> None:
    assert orjson.loads(wire_for(PLAIN).request(TEXTS, Side.QUERY).body)["input"] == TEXTS


def test_vectors_of_another_length_are_asked_for() -> None:
    request = wire_for(EmbeddingSpec(dims=256)).request(TEXTS, Side.DOCUMENT)
    assert orjson.loads(request.body)["dimensions"] == 256


@pytest.mark.parametrize(
    "base_url", ["http://box:11434", "http://box:11434/", "http://box:11434/v1", "http://box:11434/api/"]
)
def test_the_base_url_may_be_that_of_either_api(base_url: str) -> None:
    assert wire_for(EmbeddingSpec(base_url=base_url)).request(TEXTS, Side.QUERY).url == "http://box:11434/api/embed"


def test_vectors_come_in_the_order_of_the_texts() -> None:
    wire = wire_for(PLAIN)
    reply = reply_of(provider_of(OllamaSpeech()), wire.request(TEXTS, Side.DOCUMENT))
    assert np.array_equal(wire.vectors(reply, 2), [vector_of(text, 768) for text in TEXTS])


def test_a_vector_too_few_is_refused() -> None:
    wire = wire_for(PLAIN)
    reply = reply_of(provider_of(OllamaSpeech(), drops_last), wire.request(TEXTS, Side.DOCUMENT))
    with pytest.raises(RefusedError, match="2 vectors") as refused:
        wire.vectors(reply, 2)
    assert refused.value.trouble is Trouble.REPLY


@pytest.mark.parametrize("body", [b"{}", b'{"embeddings": [1]}', b'{"embedding": [1]}', b"<html>"])
def test_a_reply_of_another_shape_is_refused(body: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        wire_for(PLAIN).vectors(Reply(200, body), 1)
    assert refused.value.trouble is Trouble.REPLY


def test_a_server_that_knows_the_path_is_asked_once() -> None:
    provider = provider_of(OllamaSpeech())
    EitherVersion(to(provider))(wire_for(PLAIN).request(TEXTS, Side.DOCUMENT), 60)
    assert [asked.path for asked in provider.asked] == [PATH]


def test_an_older_server_is_asked_text_by_text() -> None:
    wire, provider = wire_for(PLAIN), provider_of(OllamaSpeech(), is_older)
    reply = EitherVersion(to(provider))(wire.request(TEXTS, Side.DOCUMENT), 60)
    assert np.array_equal(wire.vectors(reply, 2), [vector_of(text, 768) for text in TEXTS])
    assert [asked.json for asked in provider.asked[1:]] == [{"model": "all-minilm", "prompt": text} for text in TEXTS]


def test_an_older_server_is_asked_for_the_path_it_lacks_only_once() -> None:
    provider = provider_of(OllamaSpeech(), is_older)
    send = EitherVersion(to(provider))
    for _ in range(2):
        send(wire_for(PLAIN).request(TEXTS, Side.DOCUMENT), 60)
    assert [asked.path for asked in provider.asked] == [PATH, *[OLDER_PATH] * 4]


def test_a_key_is_sent_with_each_text_to_an_older_server_too() -> None:
    provider = provider_of(OllamaSpeech(), is_older)
    request = wire_for(PLAIN).request(TEXTS, Side.DOCUMENT)
    EitherVersion(to(provider))(Request(request.url, request.body, {"authorization": "Bearer key"}), 60)
    assert [asked.headers["authorization"] for asked in provider.asked] == ["Bearer key"] * 3


def test_a_missing_model_is_told_and_not_taken_for_an_older_server() -> None:
    provider = provider_of(OllamaSpeech(), has_no_model)
    reply = EitherVersion(to(provider))(wire_for(PLAIN).request(TEXTS, Side.DOCUMENT), 60)
    assert reply.status == 404
    assert orjson.loads(reply.body) == {"error": "model 'all-minilm' not found"}
    assert [asked.path for asked in provider.asked] == [PATH]


def test_a_server_that_knows_neither_path_is_asked_for_the_newer_one_again() -> None:
    provider = provider_of(OllamaSpeech(), has_no_path)
    send = EitherVersion(to(provider))
    assert send(wire_for(PLAIN).request(TEXTS, Side.DOCUMENT), 60).status == 404
    provider.always.clear()
    provider.forget()
    assert send(wire_for(PLAIN).request(TEXTS, Side.DOCUMENT), 60).status == 200
    assert [asked.path for asked in provider.asked] == [PATH]


def test_a_text_that_an_older_server_refuses_refuses_the_request() -> None:
    provider = provider_of(OllamaSpeech(), is_older, refuses_text("two", status=500, message="too long"))
    reply = EitherVersion(to(provider))(wire_for(PLAIN).request(TEXTS, Side.DOCUMENT), 60)
    assert (reply.status, orjson.loads(reply.body)) == (500, {"error": "too long"})


def test_all_texts_for_an_older_server_share_the_time_of_one_request() -> None:
    provider, times = provider_of(OllamaSpeech(), is_older), iter([0.0, 10.0, 70.0])
    send = EitherVersion(to(provider), clock=lambda: next(times))
    with pytest.raises(RefusedError) as refused:
        send(wire_for(PLAIN).request(TEXTS, Side.DOCUMENT), 60)
    assert refused.value.trouble is Trouble.TIMEOUT
    assert [asked.path for asked in provider.asked] == [PATH, OLDER_PATH]


def test_an_older_server_is_used_like_any_other() -> None:
    with serving(OllamaSpeech(length=24)) as provider:
        provider.always.append(is_older)
        model = create_remote(replace(PLAIN, base_url=provider.url))
        np.testing.assert_allclose(model.embed(TEXTS), [unit_of(text, 24) for text in TEXTS], atol=1e-6)
