"""What is wrong or odd about how an agent's texts are embedded. No value of a key or a header is ever repeated."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field

from backends.embedding.catalog import APIS, CATALOG, Access, Place
from sidecar.config.checks import search_key
from sidecar.config.embedding import AUTO, NONE, choose, names_a_remote, own_endpoint, remote_endpoint
from sidecar.config.endpoints import Endpoint, entry_of
from sidecar.config.errors import Finding, Severity
from sidecar.config.json5 import KeyPath
from sidecar.config.schema import Provider
from sidecar.config.search import Remote
from sidecar.config.sendable import address_problem, is_framing, is_header_name, is_header_text, is_in_clear
from sidecar.config.settings import AgentSettings, Settings


def run(settings: Settings) -> tuple[Finding, ...]:
    """Every remark, once, however many agents it holds for."""
    found: dict[Finding, None] = {}
    for agent in settings.agents.values():
        if agent.search.enabled:
            found |= dict.fromkeys(_Checks(settings, agent).run())
    return tuple(found)


@dataclass(slots=True)
class _Checks:
    """The checks of one agent."""

    settings: Settings
    agent: AgentSettings
    findings: list[Finding] = field(default_factory=list)

    def run(self) -> list[Finding]:
        search = self.agent.search
        self._sendable(search.remote, self._at("remote"))
        self._media()
        known = [self._known("provider", search.provider), self._known("fallback", search.fallback)]
        if all(known):
            first = choose(self.settings, self.agent).first.provider
            self._first(first)
            self._second(first)
            self._sections(search.provider, search.fallback)
        return self.findings

    def _known(self, role: str, name: str) -> bool:
        providers = self.settings.providers
        if (role == "provider" and name == AUTO) or entry_of(name, providers):
            return True
        if name in providers:
            at: KeyPath = ("models", "providers", name, "api")
            message = f"{role} {name} needs an `api` that says how it is spoken to"
            self._error(at, "unknown_api", message, "known: " + ", ".join(sorted(APIS)))
        else:
            names = [*([AUTO] if role == "provider" else []), *CATALOG, *providers]
            self._error(
                self._at(role), "unknown_provider", "there is no such embedding provider", _nearest(name, names)
            )
        return False

    def _first(self, provider: str) -> None:
        search = self.agent.search
        entry = entry_of(provider, self.settings.providers)
        if search.remote.batch.enabled and not (entry and entry.batches):
            hint = "these do: " + ", ".join(name for name, other in CATALOG.items() if other.batches)
            self._warn(self._at("remote", "batch"), "no_effect", "this provider takes no batches", hint)
        if entry is None or entry.place is Place.HERE:
            self._unused_remote()
            return
        found = remote_endpoint(self.settings, search, provider)
        if search.provider != AUTO:
            self._complete("provider", provider, found, model=search.model)
        elif names_a_remote(search):
            message = "with provider auto it counts as OpenAI's"
            self._warn(self._at("remote"), "assumed_openai", message, "name the provider")
        self._in_clear(provider, found)

    def _second(self, first: str) -> None:
        provider, name = self.agent.search.provider, self.agent.search.fallback
        if name == NONE:
            return
        if provider in (name, NONE):
            why = "it is the provider itself" if provider == name else "with provider none nothing is embedded"
            self._warn(self._at("fallback"), "no_effect", why, "name another provider, or leave it out")
            return
        # What `auto` came to may be the fallback today and another provider tomorrow.
        if first == name:
            return
        entry = entry_of(name, self.settings.providers)
        if entry is not None and entry.place is not Place.HERE:
            found = own_endpoint(self.settings, name)
            self._complete("fallback", name, found, model=None)
            self._in_clear(name, found)

    def _complete(self, role: str, provider: str, found: Endpoint, *, model: str | None) -> None:
        """Whether a named provider has all that reaching it takes."""
        entry = entry_of(provider, self.settings.providers)
        assert entry is not None, "only known providers are looked at"
        remote = "memorySearch.remote" if role == "provider" else f"models.providers.{entry.sections[0]}"
        if entry.model is None and not model:
            hint = "set memorySearch.model" if role == "provider" else "use a provider that has a default model"
            self._error(self._at(role), "no_model", f"{provider} has no default model", hint)
        if entry.base_url_needed and not found.base_url:
            self._error(self._at(role), "no_base_url", f"{provider} has no address", f"set {remote}.baseUrl")
        if entry.access is Access.KEY and not found.key:
            logins = f"; {', '.join(found.logins)} holds a sign-in for chat alone" if found.logins else ""
            places = [*entry.variables[:1], f"{remote}.apiKey"]
            self._warn(self._at(role), "no_api_key", f"{provider} has no key{logins}", f"set {' or '.join(places)}")

    def _in_clear(self, provider: str, found: Endpoint) -> None:
        if found.key and found.base_url and is_in_clear(found.base_url):
            message = f"the key for {provider} crosses the network unencrypted"
            at = self._at("provider" if provider != self.agent.search.fallback else "fallback")
            self._warn(at, "key_in_clear", message, "use an https address, or one on this machine")

    def _unused_remote(self) -> None:
        if names_a_remote(self.agent.search):
            message = "the provider is on this machine: nothing of this is used"
            self._warn(self._at("remote"), "no_effect", message, "name the provider that it is for")

    def _sections(self, *names: str) -> None:
        """Of `models.providers` only what is named here: the rest is OpenClaw's, and `auto` passes what is no use."""
        providers = self.settings.providers
        used = (section for name in names if (entry := entry_of(name, providers)) for section in entry.sections)
        for section in used:
            if section in providers:
                self._sendable(providers[section], ("models", "providers", section))

    def _sendable(self, block: Remote | Provider, at: KeyPath) -> None:
        """Whether an address is one, and whether key and headers can be sent at all."""
        if block.base_url and (problem := address_problem(block.base_url.strip())):
            self._error((*at, "baseUrl"), "bad_value", problem, "write it like https://host/v1")
        if block.api_key and not is_header_text(block.api_key.get_secret_value().strip()):
            self._error((*at, "apiKey"), "bad_value", "the key holds a character that no key has", "copy it again")
        for name, value in block.headers.items():
            if not is_header_name(name):
                self._error((*at, "headers"), "bad_value", "a header has no valid name", "use letters, digits and -")
            elif is_framing(name):
                message = "the header belongs to the connection, and a value of your own would break every request"
                self._error((*at, "headers", name), "bad_value", message, "leave it out")
            elif value is not None and not is_header_text(value.get_secret_value()):
                message = "the value holds a line break or another character that no header takes"
                self._error((*at, "headers", name), "bad_value", message, "write it on one line")

    def _media(self) -> None:
        search = self.agent.search
        if not search.multimodal.enabled:
            return
        entry = entry_of(search.provider, self.settings.providers)
        if entry is None or (search.model or entry.model) not in entry.media:
            models = [f"{name} with model {model}" for name, other in CATALOG.items() for model in other.media]
            message = "this provider and model embed no images and no audio"
            self._error(self._at("multimodal", "enabled"), "no_media", message, f"set provider {models[0]}")

    def _at(self, *key: str) -> KeyPath:
        places = self.settings.origins.written["agents", self.agent.id, "memorySearch"]
        return search_key(self.settings.origins.tree, places, key)

    def _error(self, at: KeyPath, code: str, message: str, hint: str) -> None:
        self.findings.append(self.settings.origins.tree.finding(at, code, message, hint))

    def _warn(self, at: KeyPath, code: str, message: str, hint: str) -> None:
        found = self.settings.origins.tree.finding(at, code, message, hint, severity=Severity.WARNING)
        self.findings.append(found)


def _nearest(name: str, known: list[str]) -> str:
    """The provider that is probably meant, also where the name is that of its section; else all of them."""
    about = [provider for provider, entry in CATALOG.items() if name in entry.sections]
    near = about or difflib.get_close_matches(name.strip().lower(), known, n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else "known: " + ", ".join(known)
