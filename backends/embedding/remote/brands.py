"""Which providers there are behind HTTP, and what each needs: the table that a new one is added to.

Checked against: the SDK `openai` 3.57.0 (see `openai.py`), docs.deepinfra.com/api-reference/openai-embeddings-1 (1024
texts, float and base64), lmstudio.ai/docs/text-embeddings (port 1234; by public reports a wish for base64 comes back
garbled there), the SDK `mistralai` 3.7.0 (`output_dimension`; it reads numbers only) and Mistral's refusals of more
than 256 texts ("Too many inputs in request") and of more tokens ("Max is 16384").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from backends.embedding.base import EmbeddingSpec, Side
from backends.embedding.catalog import APIS, default_model
from backends.embedding.remote import bedrock, copilot, gemini, ollama, voyage
from backends.embedding.remote.batch.gemini import GeminiBatches
from backends.embedding.remote.batch.openai import openai_batches
from backends.embedding.remote.batch.voyage import voyage_batches
from backends.embedding.remote.batch.wire import BatchWire
from backends.embedding.remote.credentials import bearer, google_key
from backends.embedding.remote.openai import OpenAIWire
from backends.embedding.remote.prefixes import prefix
from backends.embedding.remote.wire import Credentials, Limits, Send, SendWithin, Wire


@dataclass(frozen=True, slots=True)
class Target:
    """What a specification comes to: its model and base URL with the brand's defaults filled in."""

    spec: EmbeddingSpec
    model: str
    base_url: str
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Brand:
    """One provider. `model` and `base_url` None must be given by the configuration; "" needs none.

    `sending` adapts how requests are sent where servers of several versions are to be spoken to; `discover` asks the
    account for its model where none is configured; `batches` is the provider's batch interface.
    """

    wire: Callable[[Target], Wire]
    credentials: Callable[[EmbeddingSpec], Credentials]
    limits: Limits
    model: str | None = None
    base_url: str | None = None
    needs_key: bool = True
    concurrency: int = 4
    documents_timeout_s: float = 120.0
    sending: Callable[[SendWithin], SendWithin] = lambda send: send
    discover: Callable[[Credentials, Send], str] | None = None
    batches: Callable[[Target], BatchWire] | None = None


def _bearer(spec: EmbeddingSpec) -> Credentials:
    return bearer(spec.api_key)


def _google(spec: EmbeddingSpec) -> Credentials:
    return google_key(spec.api_key)


def _copilot(spec: EmbeddingSpec) -> copilot.CopilotCredentials:
    return copilot.CopilotCredentials(spec)


def _copilot_model(credentials: Credentials, send: Send) -> str:
    assert isinstance(credentials, copilot.CopilotCredentials)
    return credentials.model(send)


def _gemini_batches(target: Target) -> BatchWire:
    wire = gemini.wire_for(target.spec)
    return GeminiBatches(
        wire.model,
        wire.base_url,
        wire.dims,
        wire.tasks.get(Side.DOCUMENT),
        before=prefix(wire.model, Side.DOCUMENT),
    )


def _voyage_batches(target: Target) -> BatchWire:
    spec = target.spec
    return voyage_batches(
        target.model, base_url=target.base_url, dims=spec.dims, input_type=spec.document_input_type or "document"
    )


def _openai(target: Target, *, packed: bool, dims_name: str = "dimensions") -> Wire:
    spec = target.spec
    return OpenAIWire(
        base_url=target.base_url,
        model=target.model,
        limits=target.limits,
        packed=packed,
        dims=spec.dims,
        dims_name=dims_name,
        query_input_type=spec.query_input_type,
        document_input_type=spec.document_input_type,
    )


_COMPATIBLE = Brand(
    wire=partial(_openai, packed=False),
    credentials=_bearer,
    # Nobody knows what is behind such an address: what is refused is halved.
    limits=Limits(texts=128, tokens=100_000),
    needs_key=False,
)

BRANDS: Mapping[str, Brand] = {
    "openai": Brand(
        wire=partial(_openai, packed=True),
        credentials=_bearer,
        limits=Limits(texts=2048, tokens=300_000),
        model=default_model("openai"),
        base_url="https://api.openai.com/v1",
        batches=lambda target: openai_batches(target.model, base_url=target.base_url, dims=target.spec.dims),
    ),
    "gemini": Brand(
        wire=lambda target: gemini.wire_for(target.spec),
        credentials=_google,
        limits=gemini.LIMITS,
        model=gemini.MODEL,
        base_url=gemini.BASE_URL,
        batches=_gemini_batches,
    ),
    "voyage": Brand(
        wire=lambda target: voyage.wire_for(target.spec),
        credentials=_bearer,
        limits=voyage.LIMITS,
        model=voyage.MODEL,
        base_url=voyage.BASE_URL,
        batches=_voyage_batches,
    ),
    "mistral": Brand(
        wire=partial(_openai, packed=False, dims_name="output_dimension"),
        credentials=_bearer,
        limits=Limits(texts=256, tokens=16_000),
        model=default_model("mistral"),
        base_url="https://api.mistral.ai/v1",
    ),
    "ollama": Brand(
        wire=lambda target: ollama.wire_for(target.spec),
        credentials=_bearer,
        limits=ollama.LIMITS,
        model=ollama.MODEL,
        base_url=ollama.BASE_URL,
        needs_key=False,
        concurrency=1,
        sending=ollama.EitherVersion,
    ),
    "deepinfra": Brand(
        wire=partial(_openai, packed=True),
        credentials=_bearer,
        limits=Limits(texts=1024, tokens=300_000),
        model=default_model("deepinfra"),
        base_url="https://api.deepinfra.com/v1/openai",
    ),
    "lmstudio": Brand(
        wire=partial(_openai, packed=False),
        credentials=_bearer,
        limits=Limits(texts=64, tokens=32_000, text_tokens=2048),
        model=default_model("lmstudio"),
        base_url="http://127.0.0.1:1234/v1",
        needs_key=False,
        concurrency=1,
        documents_timeout_s=600.0,
    ),
    "bedrock": Brand(
        wire=lambda target: bedrock.wire_for(target.spec),
        credentials=bedrock.credentials_for,
        limits=Limits(texts=96, tokens=128_000),
        model=bedrock.MODEL,
        # The region says which.
        base_url="",
        needs_key=False,
    ),
    "github-copilot": Brand(
        wire=partial(_openai, packed=False),
        credentials=_copilot,
        limits=Limits(texts=128, tokens=100_000),
        model="",
        base_url=copilot.API,
        needs_key=False,
        discover=_copilot_model,
    ),
    "openai-compatible": _COMPATIBLE,
}


def brand_of(spec: EmbeddingSpec) -> Brand | None:
    """The brand of a specification, or the one whose protocol its provider speaks; None for neither."""
    if spec.provider in BRANDS:
        return BRANDS[spec.provider]
    brand = BRANDS.get(APIS.get(spec.api or "", ""))
    # Whoever speaks a provider's protocol has neither its models nor its address, and perhaps no key.
    return replace(brand, model=None, base_url=brand.base_url and None, needs_key=False) if brand else None
