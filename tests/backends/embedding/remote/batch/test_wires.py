"""What each batch API is sent, and what it may answer."""

from __future__ import annotations

import orjson
import pytest

from backends.embedding.remote.batch.gemini import GeminiBatches
from backends.embedding.remote.batch.openai import LIMITS, openai_batches
from backends.embedding.remote.batch.voyage import voyage_batches
from backends.embedding.remote.batch.wire import BatchWire, Phase
from backends.embedding.remote.wire import RefusedError, Reply, Trouble

OPENAI = openai_batches("text-embedding-3-small", dims=256)
VOYAGE = voyage_batches("voyage-4-large", dims=512)
GEMINI = GeminiBatches("gemini-embedding-001", dims=768)


def reply(value: object) -> Reply:
    return Reply(200, orjson.dumps(value))


def test_a_line_of_openai_is_a_whole_request() -> None:
    assert orjson.loads(OPENAI.record("d", "text")) == {
        "custom_id": "d",
        "method": "POST",
        "url": "/v1/embeddings",
        "body": {"model": "text-embedding-3-small", "encoding_format": "base64", "dimensions": 256, "input": "text"},
    }


def test_a_line_of_voyage_is_an_id_and_an_input() -> None:
    assert orjson.loads(VOYAGE.record("d", "text")) == {"custom_id": "d", "body": {"input": ["text"]}}


def test_a_request_of_gemini_carries_its_digest_as_metadata() -> None:
    assert orjson.loads(GEMINI.record("d", "text")) == {
        "request": {
            "model": "models/gemini-embedding-001",
            "content": {"parts": [{"text": "text"}]},
            "taskType": "RETRIEVAL_DOCUMENT",
            "outputDimensionality": 768,
        },
        "metadata": {"key": "d"},
    }


@pytest.mark.parametrize(
    ("wire", "creation"),
    [
        (OPENAI, {"input_file_id": "file-1", "endpoint": "/v1/embeddings", "completion_window": "24h"}),
        (
            VOYAGE,
            {
                "input_file_id": "file-1",
                "endpoint": "/v1/embeddings",
                "completion_window": "12h",
                "request_params": {"model": "voyage-4-large", "input_type": "document", "output_dimension": 512},
            },
        ),
    ],
)
def test_a_batch_is_made_of_an_uploaded_file(wire: BatchWire, creation: dict[str, object]) -> None:
    steps = wire.submission([wire.record("d", "text")])
    assert next(steps).url.endswith("/v1/files")
    created = steps.send(reply({"id": "file-1"}))
    assert created.url.endswith("/v1/batches")
    assert orjson.loads(created.body) == creation
    with pytest.raises(StopIteration) as done:
        steps.send(reply({"id": "batch_1"}))
    assert done.value.value == "batch_1"


def test_jobs_of_openai_stay_within_what_it_takes() -> None:
    """50,000 requests and 200 MB are its bounds."""
    assert (LIMITS.requests, LIMITS.bytes) == (50_000, 190_000_000)


@pytest.mark.parametrize("name", ["", "a/../b", "a?b", "..", 7, None, "a\nb"])
def test_an_id_that_would_change_an_address_is_a_wrong_reply(name: object) -> None:
    """The key is sent to the address that it becomes a part of."""
    steps = OPENAI.submission([b"{}"])
    next(steps)
    with pytest.raises(RefusedError) as refused:
        steps.send(reply({"id": name}))
    assert refused.value.trouble is Trouble.REPLY


@pytest.mark.parametrize("name", ["", "batches/", "batches/../models", "files/1", "batches/1?key=", None])
def test_a_name_that_is_not_one_of_a_batch_is_a_wrong_reply(name: object) -> None:
    steps = GEMINI.submission([b"{}"])
    next(steps)
    with pytest.raises(RefusedError) as refused:
        steps.send(reply({"name": name}))
    assert refused.value.trouble is Trouble.REPLY


@pytest.mark.parametrize(
    ("status", "phase"),
    [
        ("validating", Phase.WAITING),
        ("in_progress", Phase.WAITING),
        ("finalizing", Phase.WAITING),
        ("cancelling", Phase.WAITING),
        ("completed", Phase.ENDED),
        ("failed", Phase.FAILED),
        ("expired", Phase.FAILED),
        ("cancelled", Phase.FAILED),
    ],
)
def test_every_status_of_a_batch_is_known(status: str, phase: Phase) -> None:
    assert OPENAI.state(reply({"id": "batch_1", "status": status})).phase is phase


def test_both_files_of_a_batch_are_downloaded() -> None:
    state = OPENAI.state(reply({"status": "expired", "output_file_id": "o", "error_file_id": "e"}))
    assert [request.url.rsplit("/v1", 1)[1] for request in state.downloads] == ["/files/o/content", "/files/e/content"]


@pytest.mark.parametrize("name", ["inlinedResponses", "inlinedEmbedContentResponses"])
@pytest.mark.parametrize("place", ["metadata", "response"])
def test_results_of_gemini_are_found_where_operations_have_them(name: str, place: str) -> None:
    """In the metadata of the batch, or as the result of the operation."""
    answers = {name: {"inlinedResponses": [{"metadata": {"key": "d"}, "response": {"embedding": {"values": [1.0]}}}]}}
    operation = {"done": True, place: {"output": answers} if place == "metadata" else answers}
    state = GEMINI.state(reply(operation))
    assert state.phase is Phase.ENDED
    (result,) = GEMINI.results(state.bodies[0])
    assert (result.digest, result.vector is not None) == ("d", True)


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (OPENAI, b"<html>"),
        (OPENAI, b'{"response": {"status_code": 200}}'),
        (OPENAI, b'{"custom_id": "d", "response": {"status_code": 200, "body": {}}}'),
        (OPENAI, b'{"custom_id": "d", "response": {"status_code": 200, "body": {"data": [{"embedding": "AAA"}]}}}'),
        (OPENAI, b'{"custom_id": "d", "response": {"status_code": 200, "body": {"data": [{"embedding": ""}]}}}'),
        (GEMINI, b'{"response": {"inlinedResponses": {"inlinedResponses": [{"response": {}}]}}}'),
        (GEMINI, b'{"response": {"inlinedResponses": {"inlinedResponses": [{"metadata": {"key": "d"}}]}}}'),
    ],
)
def test_results_that_make_no_sense_are_a_wrong_reply(wire: BatchWire, body: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        list(wire.results(body))
    assert refused.value.trouble is Trouble.REPLY
