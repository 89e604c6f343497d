"""Which providers there are behind HTTP, and what each needs: the table that a new one is added to.

Checked against: the SDK `openai` 3.57.0 (see `openai.py`), docs.deepinfra.com/api-reference/openai-embeddings-1 (1024
texts, float and base64), lmstudio.ai/docs/text-embeddings (port 1234; it answers a wish for base64 with numbers), the
SDK `mistralai` 3.7.0 (`output_dimension`; it reads numbers only) and Mistral's refusals of more than 256 texts ("Too
many inputs in request") and of more tokens ("Max is 16384").
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import urlsplit, urlunsplit

import orjson

from backends.embedding.base import EmbeddingSpec, EmbeddingUnavailableError
from backends.embedding.remote import gemini, ollama, voyage
from backends.embedding.remote.credentials import bearer, google_key
from backends.embedding.remote.embedder import Profile, RemoteEmbedder
from backends.embedding.remote.exchange import Exchange, Timeouts
from backends.embedding.remote.openai import OpenAIWire
from backends.embedding.remote.retrying import Patience
from backends.embedding.remote.wire import Credentials, Limits, SendWithin, Wire
from backends.relevance import Spread


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

    `sending` adapts how requests are sent where servers of several versions are to be spoken to.
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


def _bearer(spec: EmbeddingSpec) -> Credentials:
    return bearer(spec.api_key)


def _google(spec: EmbeddingSpec) -> Credentials:
    return google_key(spec.api_key)


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
        model="text-embedding-3-small",
        base_url="https://api.openai.com/v1",
    ),
    "gemini": Brand(
        wire=lambda target: gemini.wire_for(target.spec),
        credentials=_google,
        limits=gemini.LIMITS,
        model=gemini.MODEL,
        base_url=gemini.BASE_URL,
    ),
    "voyage": Brand(
        wire=lambda target: voyage.wire_for(target.spec),
        credentials=_bearer,
        limits=voyage.LIMITS,
        model=voyage.MODEL,
        base_url=voyage.BASE_URL,
    ),
    "mistral": Brand(
        wire=partial(_openai, packed=False, dims_name="output_dimension"),
        credentials=_bearer,
        limits=Limits(texts=256, tokens=16_000),
        model="mistral-embed",
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
        model="BAAI/bge-m3",
        base_url="https://api.deepinfra.com/v1/openai",
    ),
    "lmstudio": Brand(
        wire=partial(_openai, packed=False),
        credentials=_bearer,
        limits=Limits(texts=64, tokens=32_000, text_tokens=2048),
        model="text-embedding-nomic-embed-text-v1.5",
        base_url="http://127.0.0.1:1234/v1",
        needs_key=False,
        concurrency=1,
        documents_timeout_s=600.0,
    ),
    "openai-compatible": _COMPATIBLE,
}

#: The brand whose protocol a provider of the configuration's own speaks, by its `api`.
APIS: Mapping[str, str] = {
    "openai": "openai-compatible",
    "openai-completions": "openai-compatible",
    "openai-responses": "openai-compatible",
    "google-generative-ai": "gemini",
    "ollama": "ollama",
    "bedrock-converse-stream": "bedrock",
}

# Between unrelated texts, and between a question and what answers it, by the beginning of a model's name. What an index
# measures takes over as it grows; until then a threshold must not let everything through, or nothing.
_SPREADS: tuple[tuple[str, Spread], ...] = (
    ("text-embedding-3", Spread(0.1, 0.6)),
    ("text-embedding-ada", Spread(0.72, 0.88)),
    ("amazon.titan-embed-text-v2", Spread(0.03, 0.55)),
)
_USUAL_SPREAD = Spread(0.25, 0.8)
_SECRET_WORDS = ("auth", "key", "token", "secret", "cookie", "signature", "credential", "password")


def is_remote(spec: EmbeddingSpec) -> bool:
    """Whether a specification names a provider behind HTTP."""
    return _brand_of(spec) is not None


def create_remote(
    spec: EmbeddingSpec, *, send: SendWithin | None = None, patience: Patience | None = None
) -> RemoteEmbedder:
    """The embedder for a specification for which `is_remote` holds. It asks the provider for one vector.

    Raises `EmbeddingUnavailableError` when the configuration lacks what the provider needs, or the provider fails.
    """
    brand = _brand_of(spec)
    if brand is None:
        raise _lacking(spec, "is not known", "Name a provider that is, or give it an `api`.")
    target = _target(spec, brand)
    if brand.needs_key and not spec.api_key:
        raise _lacking(spec, "has no API key", "Set `memorySearch.remote.apiKey` or the provider's variable.")
    exchange = Exchange(
        wire=brand.wire(target),
        credentials=brand.credentials(spec),
        send=brand.sending(send or _over_the_network()),
        headers=dict(spec.headers),
        timeouts=Timeouts(documents_s=brand.documents_timeout_s),
        patience=patience or Patience(),
    )
    return RemoteEmbedder(
        Profile(
            provider=spec.provider,
            model=target.model,
            dims=spec.dims,
            key=provider_key(target),
            concurrency=brand.concurrency,
            spread=_spread(target.model),
        ),
        exchange,
    )


def provider_key(target: Target) -> str:
    """A short hash of what tells vectors apart beside the model's name; secrets are left out of it.

    In it: the endpoint, the input types, the wished length, and the headers that prove nothing.
    """
    spec = target.spec
    headers = sorted((name.lower(), value) for name, value in spec.headers if not _is_secret(name))
    facts = [_public(target.base_url), spec.query_input_type, spec.document_input_type, spec.dims, headers]
    return hashlib.sha256(orjson.dumps(facts)).hexdigest()[:16]


def _brand_of(spec: EmbeddingSpec) -> Brand | None:
    if spec.provider in BRANDS:
        return BRANDS[spec.provider]
    brand = BRANDS.get(APIS.get(spec.api or "", ""))
    # Whoever speaks a provider's protocol has neither its models nor its address, and perhaps no key.
    return replace(brand, model=None, base_url=brand.base_url and None, needs_key=False) if brand else None


def _target(spec: EmbeddingSpec, brand: Brand) -> Target:
    model = spec.model or brand.model
    if model is None:
        raise _lacking(spec, "has no default model", "Set `memorySearch.model`.")
    base_url = spec.base_url or brand.base_url
    if base_url is None:
        raise _lacking(spec, "has no base URL", "Set `memorySearch.remote.baseUrl`.")
    if base_url and not _is_address(base_url):
        raise _lacking(spec, "has a base URL that is none", "Write it as https://host/path.")
    return Target(spec, model, base_url, brand.limits)


def _lacking(spec: EmbeddingSpec, what: str, hint: str) -> EmbeddingUnavailableError:
    return EmbeddingUnavailableError(
        "embedding_not_configured", f"The embedding provider {spec.provider} {what}.", hint=hint
    )


def _over_the_network() -> SendWithin:
    # Whoever embeds with a model of its own must not load an HTTP client.
    from backends.embedding.remote.transport import send

    return send


def _spread(model: str) -> Spread:
    name = model.rpartition("/")[2]
    return next((spread for begin, spread in _SPREADS if name.startswith(begin)), _USUAL_SPREAD)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _is_secret(name: str) -> bool:
    return any(word in name.lower() for word in _SECRET_WORDS)


def _public(url: str) -> str:
    """A URL without what may be a secret in it: a user with a password, and a query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower()
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
