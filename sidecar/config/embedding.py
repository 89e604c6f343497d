"""Which embedding provider an agent's built-in index asks, and which one stands in for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from backends.embedding import BatchSpec, EmbeddingSpec, resolve
from backends.embedding.catalog import AUTOMATIC_BY_KEY, CATALOG, Place
from sidecar.config.endpoints import Endpoint, endpoint, entry_of
from sidecar.config.search import Local, MemorySearch
from sidecar.config.sendable import address_problem
from sidecar.config.settings import AgentSettings, Settings
from sidecar.config.variables import expand

AUTO: Final = "auto"
NONE: Final = "none"
_ADDRESSES: Final = ("hf:", "http:", "https:")


class ChosenBy(StrEnum):
    """Whether the configuration names the provider, or it was the first of the automatic order."""

    CONFIG = "config"
    AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingChoice:
    """The provider that is asked first, and the one that stands in for it; `requested` is what the configuration says.

    `reason` says in words what an automatic choice came from. The two never share a key, a header or an address.
    """

    requested: str
    first: EmbeddingSpec
    second: EmbeddingSpec | None = None
    chosen_by: ChosenBy = ChosenBy.CONFIG
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """What an operator may know of it: no key, no header, no address."""
        return {
            "requested": self.requested,
            "provider": NONE if self.first.provider == AUTO else self.first.provider,
            "model": _model_of(self.first),
            "chosenBy": self.chosen_by,
            "required": self.first.required,
            **({"reason": self.reason} if self.reason else {}),
            **({"fallback": self.second.provider} if self.second else {}),
        }


def choose(
    settings: Settings, agent: AgentSettings, *, on_this_machine: Callable[[EmbeddingSpec], str] = resolve
) -> EmbeddingChoice:
    """The choice for one agent. Opens no connection, and never raises: `embedding_checks` says what is wrong.

    `on_this_machine` says which provider `auto` comes to among those that need no network, `none` for none of them.
    """
    search = agent.search
    provider, reason = search.provider, ""
    if provider == AUTO:
        here = on_this_machine(_here(settings, search, AUTO))
        provider, reason = _automatic(settings, search, here)
    return EmbeddingChoice(
        requested=search.provider,
        first=_first(settings, search, provider),
        second=_second(settings, search, provider),
        chosen_by=ChosenBy.AUTO if search.provider == AUTO else ChosenBy.CONFIG,
        reason=reason,
    )


def remote_endpoint(settings: Settings, search: MemorySearch, provider: str) -> Endpoint:
    """How the provider that is asked first is reached."""
    return endpoint(provider, settings.providers, settings.variables, search.remote)


def own_endpoint(settings: Settings, provider: str) -> Endpoint:
    """How a provider is reached without anything that was configured for another."""
    return endpoint(provider, settings.providers, settings.variables)


def names_a_remote(search: MemorySearch) -> bool:
    """Whether `remote` says whom to reach, beside how."""
    remote = search.remote
    return bool(remote.base_url or remote.api_key or remote.headers)


def _automatic(settings: Settings, search: MemorySearch, here: str) -> tuple[str, str]:
    """The provider that `auto` comes to, and why; `auto` itself when there is none."""
    if here == "local":
        return here, "the model's file is on this machine"
    if settings.memory.backend == "qmd":
        why = "with memory.backend qmd an automatic choice stays on this machine"
        return (here, why) if here != NONE else (AUTO, why)
    # What `remote` holds is OpenAI's or speaks like it; another provider must not be sent any of it.
    for provider in AUTOMATIC_BY_KEY[:1] if names_a_remote(search) else AUTOMATIC_BY_KEY:
        found = remote_endpoint(settings, search, provider)
        if found.key and not (found.base_url and address_problem(found.base_url)):
            return provider, f"{found.key_from} is set"
    why = "no local model and no key was found"
    return (here, why) if here != NONE else (AUTO, f"{why}, and the extra `static` is not installed")


def _first(settings: Settings, search: MemorySearch, provider: str) -> EmbeddingSpec:
    entry = entry_of(provider, settings.providers)
    if provider == AUTO or (entry and entry.place is Place.HERE):
        return _here(settings, search, provider)
    found = remote_endpoint(settings, search, provider)
    return EmbeddingSpec(
        provider=provider,
        model=search.model or _default_model(settings, provider),
        api=_api(settings, provider),
        base_url=found.base_url,
        api_key=found.key,
        headers=found.headers,
        dims=search.output_dimensionality,
        query_input_type=search.query_input_type,
        document_input_type=search.document_input_type,
        required=search.provider != AUTO,
        batch=_batch(search) if entry and entry.batches else None,
    )


def _second(settings: Settings, search: MemorySearch, first: str) -> EmbeddingSpec | None:
    """The stand-in: with its own model, and nothing of what `remote` holds."""
    provider = search.fallback
    entry = entry_of(provider, settings.providers)
    if entry is None or provider in (NONE, first) or first == NONE:
        return None
    if entry.place is Place.HERE:
        return _here(settings, search, provider)
    found = own_endpoint(settings, provider)
    return EmbeddingSpec(
        provider=provider,
        model=_default_model(settings, provider),
        api=_api(settings, provider),
        base_url=found.base_url,
        api_key=found.key,
        headers=found.headers,
    )


def _here(settings: Settings, search: MemorySearch, provider: str) -> EmbeddingSpec:
    """A provider on this machine: it has its own model, whatever `model` names for others."""
    local = search.local if provider in (AUTO, "local") else Local()
    return EmbeddingSpec(
        provider=provider,
        model_path=_path(settings, local.model_path) if local.model_path else None,
        model_cache_dir=_path(settings, local.model_cache_dir) if local.model_cache_dir else None,
    )


def _path(settings: Settings, text: str) -> str:
    """A file or an address; a relative path starts at the user's home, since a service has no working folder."""
    return text if text.startswith(_ADDRESSES) else str(expand(text, settings.variables, base=settings.home))


def _api(settings: Settings, provider: str) -> str | None:
    section = settings.providers.get(provider)
    return section.api if section and provider not in CATALOG else None


def _default_model(settings: Settings, provider: str) -> str | None:
    """The model of a provider of the configuration's own; one that is built in knows its default itself."""
    entry = None if provider in CATALOG else entry_of(provider, settings.providers)
    return (entry.model or None) if entry else None


def _model_of(spec: EmbeddingSpec) -> str | None:
    entry = CATALOG.get(spec.provider)
    return spec.model_path or spec.model or (entry.model if entry else None) or None


def _batch(search: MemorySearch) -> BatchSpec | None:
    batch = search.remote.batch
    if not batch.enabled:
        return None
    return BatchSpec(
        wait=batch.wait,
        concurrency=batch.concurrency,
        poll_interval_s=batch.poll_interval_ms / 1000,
        timeout_s=batch.timeout_minutes * 60.0,
    )
