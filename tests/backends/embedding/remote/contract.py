"""The providers that the contract suite runs over: add an entry, and every promise is tested for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from backends.embedding import EmbeddingSpec
from tests.backends.embedding.remote.serving import Mischief, Speech, fails
from tests.backends.embedding.remote.serving_bedrock import CohereSpeech
from tests.backends.embedding.remote.serving_gemini import GeminiSpeech, used_up_quota
from tests.backends.embedding.remote.serving_mistral import MistralSpeech
from tests.backends.embedding.remote.serving_ollama import OllamaSpeech
from tests.backends.embedding.remote.serving_voyage import VoyageSpeech
from tests.backends.embedding.remote.speeches import ForgetfulSpeech, OpenAISpeech

KEY = "sk-do-not-tell-1234567890"
BEARER = ("authorization", f"Bearer {KEY}")

USED_UP = fails(429, "insufficient_quota", "You exceeded your current quota, please check your billing details.")


@dataclass(frozen=True)
class Entry:
    """One provider: the server's side, what a configuration says, and what is particular to it.

    `path` stands between the server's address and what the wire adds; `proof` is the header that carries the key;
    `dims` whether its API can be asked for a length; `quota` how it refuses for want of money.
    """

    id: str
    speech: Callable[[], Speech]
    spec: EmbeddingSpec
    path: str = "/v1"
    proof: tuple[str, str] | None = BEARER
    dims: bool = True
    quota: Mischief = USED_UP


LENGTH = 24


def _openai_style(provider: str, model: str | None = None, api: str | None = None) -> EmbeddingSpec:
    return EmbeddingSpec(provider=provider, model=model, api=api, api_key=KEY)


ENTRIES = [
    Entry("openai", OpenAISpeech, _openai_style("openai")),
    # Models whose vectors may have any length, so that a short one can be asked for.
    Entry(
        "gemini",
        partial(GeminiSpeech, LENGTH),
        _openai_style("gemini", "text-embedding-004"),
        path="/v1beta",
        proof=("x-goog-api-key", KEY),
        quota=used_up_quota,
    ),
    Entry("voyage", partial(VoyageSpeech, LENGTH), _openai_style("voyage", "voyage-2")),
    Entry("mistral", partial(MistralSpeech, LENGTH), _openai_style("mistral")),
    Entry("ollama", partial(OllamaSpeech, LENGTH), _openai_style("ollama", "all-minilm"), path=""),
    Entry("bedrock", partial(CohereSpeech, LENGTH), _openai_style("bedrock", "cohere.embed-v4:0"), path=""),
    Entry("deepinfra", OpenAISpeech, _openai_style("deepinfra"), path="/v1/openai"),
    Entry("lmstudio", ForgetfulSpeech, _openai_style("lmstudio", "all-minilm"), dims=False),
    Entry("openai-compatible", OpenAISpeech, _openai_style("openai-compatible", "bge-large")),
    Entry("custom", ForgetfulSpeech, _openai_style("my-own-server", "e5", api="openai-completions"), dims=False),
]
