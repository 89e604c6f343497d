"""The protocol of OpenAI's embeddings, bytes in and bytes out."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

from backends.embedding.base import Side
from backends.embedding.remote.openai import OpenAIWire, endpoint
from backends.embedding.remote.wire import Limits, RefusedError, Reply, Trouble


def wire(**options: Any) -> OpenAIWire:
    return OpenAIWire(
        **{"base_url": "https://api.test/v1", "model": "m", "limits": Limits(texts=9, tokens=99)} | options
    )


def sent(made: OpenAIWire, side: Side = Side.DOCUMENT) -> Any:
    return json.loads(made.request(["a", "ü"], side).body)


def reply(*items: Any) -> Reply:
    return Reply(200, json.dumps({"object": "list", "data": list(items)}).encode())


def item(index: int | None, embedding: Any) -> dict[str, Any]:
    return {"object": "embedding", "index": index, "embedding": embedding}


def test_a_request_holds_what_was_asked_for_and_no_more() -> None:
    """Servers refuse wishes that they do not know."""
    request = wire().request(["a", "ü"], Side.DOCUMENT)
    assert (request.method, request.url) == ("POST", "https://api.test/v1/embeddings")
    assert json.loads(request.body) == {"model": "m", "input": ["a", "ü"], "encoding_format": "float"}


def test_a_wished_length_and_base64_are_asked_for() -> None:
    """`dimensions` and `encoding_format`."""
    body = sent(wire(dims=8, packed=True))
    assert (body["dimensions"], body["encoding_format"]) == (8, "base64")


def test_each_side_has_its_input_type() -> None:
    """As the configuration names them."""
    made = wire(query_input_type="query", document_input_type="passage")
    assert sent(made, Side.QUERY)["input_type"] == "query"
    assert sent(made, Side.DOCUMENT)["input_type"] == "passage"


def test_a_model_that_wants_a_prefix_gets_it_where_no_input_type_says_the_side() -> None:
    """Servers of one's own pass texts on as they come."""
    made = wire(model="text-embedding-nomic-embed-text-v1.5", document_input_type="passage")
    assert sent(made, Side.QUERY)["input"] == ["search_query: a", "search_query: ü"]
    assert sent(made, Side.DOCUMENT)["input"] == ["a", "ü"]


def test_vectors_come_in_the_order_of_the_texts() -> None:
    """By `index`, however they are sent; numbers and base64 alike."""
    packed = base64.b64encode(np.array([1, 2], dtype="<f4").tobytes()).decode()
    rows = wire().vectors(reply(item(1, [3, 4.5]), item(0, packed)), 2)
    assert rows.tolist() == [[1, 2], [3, 4.5]]
    assert rows.dtype == np.float32


def test_without_an_index_the_order_is_that_of_the_reply() -> None:
    """Some servers leave it out, or give 0 to all."""
    assert wire().vectors(reply({"embedding": [1]}, {"embedding": [2]}), 2).tolist() == [[1], [2]]
    assert wire().vectors(reply(item(0, [1]), item(0, [2])), 2).tolist() == [[1], [2]]


def test_numbers_that_json_does_not_know_are_read() -> None:
    """Servers written in Python send NaN, others null."""
    body = b'{"data": [{"index": 0, "embedding": [NaN, 1]}, {"index": 1, "embedding": [null, Infinity]}]}'
    rows = wire().vectors(Reply(200, body), 2)
    assert np.isnan(rows[:, 0]).all()
    assert rows[1, 1] == np.inf


@pytest.mark.parametrize(
    "bad",
    [
        Reply(200, b""),
        Reply(200, b"[]"),
        Reply(200, b"{}"),
        Reply(200, b'{"data": {}}'),
        reply(),
        reply(item(0, [1])),
        reply(item(0, [1]), item(1, [1, 2])),
        reply(item(0, [1]), item(1, None)),
        reply(item(0, []), item(1, [])),
        reply(item(0, ["x"]), item(1, ["y"])),
        reply(item(0, "?"), item(1, "?")),
        reply(item(1, [1]), item(1, [2])),
        reply([1], [2]),
        reply(item(0, [[1]]), item(1, [[1]])),
    ],
)
def test_what_is_no_list_of_vectors_is_refused(bad: Reply) -> None:
    """As a bad reply, whatever is wrong with it."""
    with pytest.raises(RefusedError) as raised:
        wire().vectors(bad, 2)
    assert raised.value.trouble is Trouble.REPLY


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://api.test/v1", "https://api.test/v1/embeddings"),
        ("https://api.test/v1/", "https://api.test/v1/embeddings"),
        ("https://api.test", "https://api.test/embeddings"),
        ("https://api.test/v1/embeddings", "https://api.test/v1/embeddings"),
        ("https://api.test/deploy?api-version=2", "https://api.test/deploy/embeddings?api-version=2"),
    ],
)
def test_a_base_url_may_be_written_in_many_ways(base_url: str, url: str) -> None:
    """With a slash, with the path itself, with a query."""
    assert endpoint(base_url, "/embeddings") == url
