"""What the error replies of providers mean, in the words that they really use."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backends.embedding.remote.refusals import judge, unavailable
from backends.embedding.remote.wire import RefusedError, Reply, Trouble


def judged(status: int, document: Any = None, **headers: str) -> RefusedError:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return judge(Reply(status, body, named), clock=lambda: 784_111_777.0)


def google(code: int, status: str, message: str, *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "status": status, "message": message, "details": list(details)}}


def google_quota(*quotas: str) -> dict[str, Any]:
    violations = [{"quotaMetric": "embed_content_free_tier_requests", "quotaId": quota} for quota in quotas]
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": violations}


def openai(code: str, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


BILLING = "You exceeded your current quota, please check your plan and billing details."
PER_MINUTE = "EmbedContentRequestsPerMinutePerProjectPerModel-FreeTier"
PER_DAY = "EmbedContentRequestsPerDayPerProjectPerModel-FreeTier"
RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"}

REPLIES: dict[str, tuple[Trouble, int, Any]] = {
    "openai key": (Trouble.KEY, 401, openai("invalid_api_key", "Incorrect API key provided: sk-abc.")),
    "google key": (
        Trouble.KEY,
        400,
        google(400, "INVALID_ARGUMENT", "API key not valid.", {"reason": "API_KEY_INVALID", "domain": "g"}),
    ),
    "google forbidden": (Trouble.KEY, 403, google(403, "PERMISSION_DENIED", "Method doesn't allow.")),
    "voyage key": (Trouble.KEY, 401, {"detail": "Provided API key is invalid."}),
    "aws token": (Trouble.KEY, 403, {"__type": "ExpiredTokenException", "message": "The security token is expired"}),
    "openai model": (Trouble.MODEL, 404, openai("model_not_found", "The model `x` does not exist")),
    "ollama model": (Trouble.MODEL, 404, {"error": 'model "x" not found, try pulling it first'}),
    "voyage model": (Trouble.MODEL, 400, {"detail": "Model voyage-9 is not supported. Supported models are [..]."}),
    "aws model": (Trouble.MODEL, 400, {"message": "The provided model identifier is invalid."}),
    "lmstudio model": (Trouble.MODEL, 400, {"error": "No models loaded. Please load a model in the developer page."}),
    "a page that is not there": (Trouble.MODEL, 404, b"<html>Not Found</html>"),
    "too large for a gateway": (Trouble.SIZE, 413, b"Request Entity Too Large"),
    "headers too large": (Trouble.SIZE, 431, b""),
    "openai items": (
        Trouble.SIZE,
        400,
        openai("", "'$.input' is invalid. Please check: array too long, maximum 2048."),
    ),
    "openai tokens": (Trouble.SIZE, 400, openai("", "This model's maximum context length is 8192 tokens, not 9000.")),
    "openai sum": (Trouble.SIZE, 400, openai("max_tokens_per_request", "Requested 400000 tokens, max 300000 tokens")),
    "gemini items": (
        Trouble.SIZE,
        400,
        google(
            400, "INVALID_ARGUMENT", "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch"
        ),
    ),
    "voyage tokens": (
        Trouble.SIZE,
        400,
        {"detail": "Request to model has too many tokens. The max allowed tokens per submitted batch is 120000."},
    ),
    "dashscope items": (Trouble.SIZE, 400, openai("", "batch size is invalid, it should not be larger than 10.")),
    "text-embeddings-inference items": (
        Trouble.SIZE,
        422,
        {"error": "batch size 33 > maximum allowed batch size 32", "error_type": "Validation"},
    ),
    "fastapi items": (Trouble.SIZE, 422, {"detail": [{"msg": "List should have at most 1024 items", "loc": ["body"]}]}),
    "mistral items": (Trouble.SIZE, 400, {"object": "error", "message": "Too many inputs in request", "code": "3210"}),
    "ollama context": (Trouble.SIZE, 400, {"error": "the input length exceeds the context length"}),
    "llama.cpp context": (
        Trouble.SIZE,
        500,
        {"error": {"code": 500, "message": "input is too large to process. increase the physical batch size"}},
    ),
    "openai quota": (Trouble.QUOTA, 429, openai("insufficient_quota", BILLING)),
    "a quota by its words": (Trouble.QUOTA, 429, {"error": BILLING}),
    "google day": (Trouble.QUOTA, 429, google(429, "RESOURCE_EXHAUSTED", BILLING, google_quota(PER_MINUTE, PER_DAY))),
    "payment": (Trouble.QUOTA, 402, {"detail": "no balance"}),
    "aws quota": (Trouble.QUOTA, 400, {"__type": "ServiceQuotaExceededException", "message": "..."}),
    "openai rate": (Trouble.RATE, 429, openai("rate_limit_exceeded", "Rate limit reached. Please try again in 20s.")),
    "google minute": (
        Trouble.RATE,
        429,
        google(429, "RESOURCE_EXHAUSTED", BILLING, google_quota(PER_MINUTE), RETRY),
    ),
    "google busy": (Trouble.RATE, 429, google(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted.")),
    "aws rate": (Trouble.RATE, 400, {"__type": "com.amazon.coral.service#ThrottlingException", "message": "slow"}),
    "server": (Trouble.SERVER, 500, {"error": "oops"}),
    "overloaded": (Trouble.SERVER, 529, {"type": "error", "error": {"type": "overloaded_error"}}),
    "cloudflare": (Trouble.SERVER, 522, b"<html>Connection timed out</html>"),
    "request timeout": (Trouble.TIMEOUT, 408, b""),
    "an unknown wish": (Trouble.REQUEST, 400, openai("", "Unknown parameter: 'dimensions'.")),
    "a wrong method": (Trouble.REQUEST, 405, {"detail": "Method Not Allowed"}),
    "a redirect": (Trouble.REQUEST, 302, b""),
    "a filtered text": (Trouble.TEXT, 400, openai("content_filter", "The text is not allowed.")),
    "google in a list": (Trouble.RATE, 429, [google(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted.")]),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_refusal_is_understood(name: str) -> None:
    """By its status, its codes, and only then its words."""
    trouble, status, document = REPLIES[name]
    assert judged(status, document).trouble is trouble


@pytest.mark.parametrize(
    ("pause_s", "document", "headers"),
    [
        (7.0, None, {"retry_after": "7"}),
        (1.5, None, {"retry_after_ms": "1500", "retry_after": "2"}),
        (60.0, None, {"retry_after": "Sun, 06 Nov 1994 08:50:37 GMT"}),
        (0.0, None, {"retry_after": "Sun, 06 Nov 1994 08:00:00 GMT"}),
        (34.07, google(429, "RESOURCE_EXHAUSTED", "slow", RETRY), {}),
        (None, None, {"retry_after": "soon"}),
        (None, None, {"retry_after": "-3"}),
        (None, None, {}),
    ],
)
def test_the_pause_that_is_asked_for_is_read(pause_s: float | None, document: Any, headers: dict[str, str]) -> None:
    """In seconds, in milliseconds, as a date, or in Google's own words."""
    assert judged(429, document, **headers).retry_after_s == pause_s


def test_a_detail_names_a_code_and_quotes_nothing() -> None:
    """A code that may be something else than one is left out."""
    assert judged(429, openai("insufficient_quota", "my text")).detail == "status 429, insufficient_quota"
    quoting = {"error": {"message": "no", "code": "the diary says so", "type": "sk-12345678"}}
    assert judged(400, quoting).detail == "status 400"


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"3", b'"text"', b'{"error": [1, {"code": {}}]}', b"\xff" * 50])
def test_any_body_is_judged(body: bytes) -> None:
    """A refusal may be made by anything between here and the provider."""
    assert judged(400, body).trouble is Trouble.REQUEST


def test_every_trouble_has_a_text_and_a_next_step() -> None:
    """Six different ones and more: nobody looks for a broken key when the quota is used up."""
    told = [unavailable(RefusedError(trouble, "x"), provider="voyage", model="voyage-4") for trouble in Trouble]
    assert all(error.message.count("voyage") and error.hint for error in told)
    by_code = {error.code: (error.message, error.hint) for error in told}
    assert set(by_code) == {
        "embedding_bad_reply",
        "embedding_key_refused",
        "embedding_model_unknown",
        "embedding_quota",
        "embedding_rate_limited",
        "embedding_refused",
        "embedding_server_error",
        "embedding_timeout",
        "embedding_unreachable",
    }
    assert len({message for message, _ in by_code.values()}) == len(by_code)
