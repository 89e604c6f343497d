"""From a specification to the embedder that it asks for, and to what tells its vectors from others."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlsplit, urlunsplit

import orjson

from backends.embedding.base import EmbeddingSpec, EmbeddingUnavailableError, Expected, Side
from backends.embedding.remote.batch.runner import BatchRunner, JobStore
from backends.embedding.remote.brands import Brand, Target, brand_of
from backends.embedding.remote.embedder import Jobs, Profile, RemoteEmbedder
from backends.embedding.remote.exchange import Exchange, Timeouts
from backends.embedding.remote.prefixes import prefix
from backends.embedding.remote.refusals import unavailable
from backends.embedding.remote.retrying import Patience
from backends.embedding.remote.wire import Credentials, RefusedError, Reply, Request, Send, SendWithin
from backends.relevance import Spread

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
    return brand_of(spec) is not None


def create_remote(
    spec: EmbeddingSpec, *, send: SendWithin | None = None, patience: Patience | None = None
) -> RemoteEmbedder:
    """The embedder for a specification for which `is_remote` holds. It asks the provider for one vector.

    Raises `EmbeddingUnavailableError` when the configuration lacks what the provider needs, or the provider fails.
    """
    brand = brand_of(spec)
    if brand is None:
        raise _nameless(spec)
    if brand.needs_key and not spec.api_key:
        raise _lacking(spec, "has no API key", "Set `memorySearch.remote.apiKey` or the provider's variable.")
    credentials = brand.credentials(spec)
    sending = brand.sending(send or _over_the_network())
    timeouts = Timeouts(documents_s=brand.documents_timeout_s)
    target = _target(_with_model(spec, brand, credentials, lambda request: sending(request, timeouts.query_s)), brand)
    exchange = Exchange(
        wire=brand.wire(target),
        credentials=credentials,
        send=sending,
        headers=dict(spec.headers),
        timeouts=timeouts,
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
        _jobs(brand, target, exchange),
    )


def expected_remote(spec: EmbeddingSpec) -> Expected:
    """Whose vectors `create_remote` would make. Asks nobody; raises `EmbeddingUnavailableError` like it."""
    brand = brand_of(spec)
    if brand is None:
        raise _nameless(spec)
    target = _target(spec, brand)
    return Expected(
        provider=spec.provider, model=target.model or None, key=provider_key(target), dims=spec.dims, hosted=True
    )


def _nameless(spec: EmbeddingSpec) -> EmbeddingUnavailableError:
    return _lacking(spec, "is not known", "Name a provider that is, or give it an `api`.")


def _with_model(spec: EmbeddingSpec, brand: Brand, credentials: Credentials, send: Send) -> EmbeddingSpec:
    """The specification with the model that the account offers, where that is how one is found."""
    if spec.model or brand.discover is None:
        return spec
    try:
        return replace(spec, model=brand.discover(credentials, send))
    except RefusedError as refused:
        raise unavailable(refused, provider=spec.provider, model="") from None


def _jobs(brand: Brand, target: Target, exchange: Exchange) -> Jobs | None:
    """What makes runners of batch jobs, where these are wanted and the provider has them."""
    batch, batches = target.spec.batch, brand.batches
    if batch is None or batches is None:
        return None

    def send(request: Request) -> Reply:
        headers = {**request.headers, **exchange.headers}
        return exchange.send(replace(request, headers=headers), exchange.timeouts.documents_s)

    def jobs(store: JobStore, sleep: Callable[[float], None]) -> BatchRunner:
        # Another account's jobs are not ours to ask for.
        account = hashlib.sha256(target.spec.api_key.encode()).hexdigest()[:16]
        key = f"{target.spec.provider}:{target.model}:{provider_key(target)}:{account}"
        return BatchRunner(batches(target), exchange.credentials, send, store, key=key, spec=batch, sleep=sleep)

    return jobs


def provider_key(target: Target) -> str:
    """A short hash of what tells vectors apart beside the model's name; secrets are left out of it.

    In it: the endpoint, the input types, the wished length, what is put before texts, and the headers that prove
    nothing.
    """
    spec = target.spec
    headers = sorted((name.lower(), value) for name, value in spec.headers if not _is_secret(name))
    facts = [_public(target.base_url), spec.query_input_type, spec.document_input_type, spec.dims, headers]
    facts += [prefix(target.model, side) for side in Side]
    return hashlib.sha256(orjson.dumps(facts)).hexdigest()[:16]


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
