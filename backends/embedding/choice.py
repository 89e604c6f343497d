"""Which embedder answers for a specification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from backends.embedding import static
from backends.embedding.base import Embedder, EmbeddingSpec, EmbeddingUnavailableError, Expected
from backends.embedding.local import embedder as local

_PROVIDERS: Mapping[str, Callable[[EmbeddingSpec], Embedder]] = {
    "local": local.load,
    "static": lambda _: static.load(),
}
#: The order in which `auto` looks, and the test that costs nothing.
_AUTOMATIC: tuple[tuple[str, Callable[[EmbeddingSpec], bool]], ...] = (
    ("local", local.available),
    ("static", lambda _: static.available()),
)


def create(spec: EmbeddingSpec) -> Embedder | None:
    """Load the embedder that a specification names; None means keywords only, on purpose or for want of a model.

    `auto` takes the first provider that is there. Raises `EmbeddingUnavailableError` when a named one is not.
    """
    provider = resolve(spec)
    if provider == "none":
        return None
    if provider in _PROVIDERS:
        return _PROVIDERS[provider](spec)
    # Loaded for those who want it: with a model of one's own nothing goes over the network.
    from backends.embedding.remote.brands import BRANDS
    from backends.embedding.remote.creation import create_remote, is_remote

    if is_remote(spec):
        return create_remote(spec)
    raise _unknown(provider, BRANDS)


def expected(spec: EmbeddingSpec) -> Expected | None:
    """Whose vectors `create` would make, None for keywords only. Loads no model and asks nobody.

    Raises `EmbeddingUnavailableError` for what the configuration alone shows to be impossible.
    """
    provider = resolve(spec)
    if provider == "none":
        return None
    if provider == "static":
        return Expected(provider=provider, model=static.MODEL, key="")
    if provider == "local":
        return local.expected(spec)
    from backends.embedding.remote.brands import BRANDS
    from backends.embedding.remote.creation import expected_remote, is_remote

    if is_remote(spec):
        return expected_remote(spec)
    raise _unknown(provider, BRANDS)


def _unknown(provider: str, others: Iterable[str]) -> EmbeddingUnavailableError:
    known = ", ".join(["auto", *sorted({*_PROVIDERS, *others}), "none"])
    return EmbeddingUnavailableError(
        "unknown_provider", f"There is no embedding provider {provider!r}.", hint=f"Known: {known}."
    )


def resolve(spec: EmbeddingSpec) -> str:
    """The provider that a specification comes to, `none` when `auto` finds nothing. Loads nothing."""
    if spec.provider != "auto":
        return spec.provider
    return next((name for name, present in _AUTOMATIC if present(spec)), "none")
