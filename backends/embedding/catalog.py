"""What is known of each embedding provider before any of it is reached: its keys, its default model, where it is.

Checked against docs.openclaw.ai/reference/memory-config and docs.openclaw.ai/providers/google.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Place(StrEnum):
    """Where a provider's model runs."""

    HERE = "here"  # in the worker process, or nowhere
    SERVER = "server"  # behind an address of the user's own, usually loopback
    HOSTED = "hosted"


class Access(StrEnum):
    """What a provider asks for before it answers."""

    NOTHING = "nothing"
    OPTIONAL_KEY = "optional_key"
    KEY = "key"
    AWS = "aws"  # a bearer key, or the chain of credentials that AWS clients share


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One provider.

    `model` is its default: "" where the account is asked for one, None where there is none and the configuration must
    name it. `variables` may hold its key, the strongest first. `sections` are the entries of `models.providers` that
    are about it. `base_url_needed`: it has no address of its own. `batches`: it takes jobs of many texts. `media`: its
    models that embed images and audio.
    """

    place: Place
    access: Access = Access.NOTHING
    model: str | None = None
    variables: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    base_url_needed: bool = False
    batches: bool = False
    media: tuple[str, ...] = ()


CATALOG: Mapping[str, Entry] = MappingProxyType(
    {
        "openai": Entry(
            place=Place.HOSTED,
            access=Access.KEY,
            model="text-embedding-3-small",
            variables=("OPENAI_API_KEY",),
            sections=("openai",),
            batches=True,
        ),
        "gemini": Entry(
            place=Place.HOSTED,
            access=Access.KEY,
            model="gemini-embedding-001",
            variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            sections=("gemini", "google"),
            batches=True,
            media=("gemini-embedding-2-preview", "gemini-embedding-2"),
        ),
        "voyage": Entry(
            place=Place.HOSTED,
            access=Access.KEY,
            model="voyage-4-large",
            variables=("VOYAGE_API_KEY",),
            sections=("voyage",),
            batches=True,
        ),
        "mistral": Entry(
            place=Place.HOSTED,
            access=Access.KEY,
            model="mistral-embed",
            variables=("MISTRAL_API_KEY",),
            sections=("mistral",),
        ),
        "deepinfra": Entry(
            place=Place.HOSTED,
            access=Access.KEY,
            model="BAAI/bge-m3",
            variables=("DEEPINFRA_API_KEY",),
            sections=("deepinfra",),
        ),
        "bedrock": Entry(
            place=Place.HOSTED,
            access=Access.AWS,
            model="amazon.titan-embed-text-v2:0",
            variables=("AWS_BEARER_TOKEN_BEDROCK",),
            sections=("bedrock", "amazon-bedrock"),
        ),
        "github-copilot": Entry(
            place=Place.HOSTED,
            access=Access.KEY,
            model="",
            variables=("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"),
            sections=("github-copilot",),
        ),
        "ollama": Entry(
            place=Place.SERVER,
            access=Access.OPTIONAL_KEY,
            model="nomic-embed-text",
            variables=("OLLAMA_API_KEY",),
            sections=("ollama",),
        ),
        "lmstudio": Entry(
            place=Place.SERVER,
            access=Access.OPTIONAL_KEY,
            model="text-embedding-nomic-embed-text-v1.5",
            sections=("lmstudio",),
        ),
        "openai-compatible": Entry(
            place=Place.SERVER,
            access=Access.OPTIONAL_KEY,
            sections=("openai-compatible",),
            base_url_needed=True,
        ),
        "local": Entry(
            place=Place.HERE,
            model="hf:ggml-org/embeddinggemma-300m-qat-q8_0-GGUF/embeddinggemma-300m-qat-Q8_0.gguf",
        ),
        "static": Entry(place=Place.HERE, model="l2_supercat_256"),
        "none": Entry(place=Place.HERE, model=""),
    }
)


def default_model(provider: str) -> str:
    """The model of a provider that has one of its own."""
    model = CATALOG[provider].model
    assert model, provider
    return model


#: Which provider's protocol an entry of `models.providers` speaks, by its `api`.
APIS: Mapping[str, str] = MappingProxyType(
    {
        **{name: name for name, entry in CATALOG.items() if entry.place is not Place.HERE},
        "openai": "openai-compatible",
        "openai-completions": "openai-compatible",
        "openai-responses": "openai-compatible",
        "google-generative-ai": "gemini",
        "bedrock-converse-stream": "bedrock",
    }
)

#: The order in which `auto` looks for a key, after a model on this machine and before the static one.
AUTOMATIC_BY_KEY = ("openai", "gemini", "voyage", "mistral")
