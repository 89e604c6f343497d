"""How an embedding provider is reached: its address, its key and its headers, from all places that may hold them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pydantic import SecretStr

from backends.embedding.catalog import APIS, CATALOG, Entry
from sidecar.config.schema import Provider
from sidecar.config.search import Remote
from sidecar.config.sendable import host_of, is_header_text

REMOTE: Final = Remote()

#: Tokens of a person's login: a JWT, as ChatGPT's sign-in gives, or one of Google's. APIs for embedding refuse them.
_LOGIN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]*|ya29\..+|(?:.*[-_])?oauth(?:[:-].*)?", re.IGNORECASE)
#: What people are signed in to, with its own hosts; a gateway at another address may ask for any token.
_WITH_LOGIN: Final[Mapping[str, tuple[str, ...]]] = {
    "openai": ("", "api.openai.com", "chatgpt.com"),
    "gemini": ("", "generativelanguage.googleapis.com"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where one provider is, and what proves who asks. `base_url` None is its own address.

    `key_from` names the setting or variable that holds the key; `logins` those that hold a token for chat alone.
    """

    base_url: str | None = None
    key: str = field(default="", repr=False)
    key_from: str = ""
    logins: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)


def entry_of(provider: str, providers: Mapping[str, Provider]) -> Entry | None:
    """What is known of a provider; one of `models.providers` is like the one whose `api` it speaks, without its key."""
    if provider in CATALOG:
        return CATALOG[provider]
    section = providers.get(provider)
    spoken = APIS.get(section.api or "") if section else None
    if spoken is None:
        return None
    like = CATALOG[spoken]
    # Its address is its own as well: whoever forgets it must not send their notes to somebody else.
    return replace(like, variables=(), sections=(provider,), base_url_needed=spoken != "bedrock", batches=False)


def endpoint(
    provider: str, providers: Mapping[str, Provider], variables: Mapping[str, str], remote: Remote = REMOTE
) -> Endpoint:
    """The endpoint of a provider. `remote` is only for the one that is asked first: its key goes nowhere else."""
    entry = entry_of(provider, providers)
    if entry is None:
        return Endpoint()
    sections = [(name, providers[name]) for name in entry.sections if name in providers]
    addresses = [remote.base_url, *(section.base_url for _, section in sections)]
    base_url = next((url.strip() for url in addresses if url and url.strip()), None)
    keys = dict(_keys(entry, sections, variables, remote))
    has_logins = host_of(base_url or "") in _WITH_LOGIN.get(provider, ())
    logins = {place for place, key in keys.items() if has_logins and _LOGIN.fullmatch(key)}
    key_from = next((place for place in keys if place not in logins), "")
    return Endpoint(
        base_url=base_url,
        key=keys.get(key_from, ""),
        key_from=key_from,
        logins=tuple(place for place in keys if place in logins),
        headers=_merged(*(section.headers for _, section in reversed(sections)), remote.headers),
    )


def _keys(
    entry: Entry, sections: list[tuple[str, Provider]], variables: Mapping[str, str], remote: Remote
) -> Iterator[tuple[str, str]]:
    """Every key with the place that holds it, the strongest first."""
    written = [("memorySearch.remote.apiKey", remote.api_key)]
    written += [(f"models.providers.{name}.apiKey", section.api_key) for name, section in sections]
    candidates = [(place, secret.get_secret_value().strip()) for place, secret in written if secret]
    candidates += [(name, variables.get(name, "").strip()) for name in entry.variables]
    yield from ((place, key) for place, key in candidates if key and is_header_text(key))


def _merged(*layers: Mapping[str, SecretStr | None]) -> tuple[tuple[str, str], ...]:
    """The headers of all layers by name, which has no case; the stronger layer is the last, and null removes."""
    headers: dict[str, tuple[str, str] | None] = {}
    for layer in layers:
        for name, value in layer.items():
            text = value.get_secret_value() if value is not None else None
            headers[name.lower()] = (name, text) if text is not None and is_header_text(text) else None
    return tuple(header for _, header in sorted(headers.items()) if header is not None)
