"""What every embedding provider offers, and how one is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from backends.relevance import Spread
from backends.text.scripts import Script

#: The code of a provider whose account has nothing left: no retry helps.
QUOTA = "embedding_quota"
#: The code of a provider whose vectors are not what they were, such as of another length.
BAD_REPLY = "embedding_bad_reply"

#: What every model can embed: it tells a model that is gone from a text that it cannot take.
HARMLESS = "memory"

Vectors: TypeAlias = npt.NDArray[np.float32]


class Side(StrEnum):
    """What a text is embedded as: many models embed a question in another way than what answers it."""

    QUERY = "query"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSpec:
    """How a provider's batch interface is used: `wait` for jobs to end, at most `concurrency` of them at a time."""

    wait: bool = True
    concurrency: int = 2
    poll_interval_s: float = 2.0
    timeout_s: float = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSpec:
    """Which provider and model a configuration asks for, with all that reaching them takes.

    `model` None is the provider's default; `api` names the protocol of a provider that is not built in. `dims` asks
    for vectors of that length. `model_path` (a file or an `hf:` address) and `model_cache_dir` are for `local`.
    `required`: without this provider a search is unavailable, instead of going on with keywords. `batch` None embeds
    by direct calls. Secrets are kept out of its repr; it crosses process borders by pipe only.
    """

    provider: str = "auto"
    model: str | None = None
    api: str | None = None
    base_url: str | None = None
    api_key: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    dims: int | None = None
    query_input_type: str | None = None
    document_input_type: str | None = None
    model_path: str | None = None
    model_cache_dir: str | None = None
    required: bool = False
    batch: BatchSpec | None = None

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> EmbeddingSpec:
        """The specification whose fields, as JSON has them, are `raw`."""
        headers = tuple((name, value) for name, value in raw.get("headers", ()))
        batch = BatchSpec(**raw["batch"]) if raw.get("batch") else None
        return cls(**{**raw, "headers": headers, "batch": batch})


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingIdentity:
    """Whose vectors these are: vectors of two identities are never compared.

    `key` tells apart what the model's name does not (endpoint, input type); it never holds a secret.
    """

    provider: str
    model: str
    dims: int
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Whose vectors a configuration would have, as far as that is known before the provider is asked.

    None stands for what only the provider tells. `hosted`: it is behind HTTP.
    """

    provider: str
    model: str | None = None
    key: str | None = None
    dims: int | None = None
    hosted: bool = False

    def fits(self, identity: EmbeddingIdentity) -> bool:
        """Whether vectors of `identity` would go on being used, as far as is known."""
        wishes = (
            (self.provider, identity.provider),
            (self.model, identity.model),
            (self.key, identity.key),
            (self.dims, identity.dims),
        )
        return all(wish is None or wish == real for wish, real in wishes)


class Embedder(Protocol):
    """One loaded model. Calls are synchronous and belong into the worker process."""

    @property
    def identity(self) -> EmbeddingIdentity:
        """Whose vectors it makes."""
        ...

    @property
    def batch_texts(self) -> int:
        """How many texts one call is best given."""
        ...

    @property
    def concurrency(self) -> int:
        """How many calls of `embed` may be under way at a time, each on its own thread.

        0: it computes in the caller's thread, and answers soon.
        """
        ...

    def usual_spread(self, script: Script) -> Spread:
        """Where cosines of texts in a script lie, as far as an index is too small to tell."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit row of float32 per text, shape (len(texts), dims).

        A text without any known token is a zero row, and one that the provider refuses a row of NaN. Raises
        `EmbeddingUnavailableError` when the provider itself fails.
        """
        ...

    def embed_query(self, text: str) -> Vectors:
        """The unit vector of a question, shape (dims,). Raises `EmbeddingUnavailableError`."""
        ...


@dataclass(frozen=True, slots=True)
class Media:
    """One image or recording: its media type, and its bytes, which are kept out of its repr."""

    mime: str
    data: bytes = field(repr=False)


@runtime_checkable
class MediaEmbedder(Embedder, Protocol):
    """A model that puts images and recordings into the same space as texts."""

    @property
    def media(self) -> frozenset[str]:
        """The media types that it takes, such as `image/png`; none where this model reads texts only."""
        ...

    def embed_media(self, items: Sequence[Media]) -> Vectors:
        """One unit row of float32 per item, shape (len(items), dims).

        One that the provider refuses is a row of NaN. Raises `EmbeddingUnavailableError` when the provider itself
        fails.
        """
        ...


class EmbeddingUnavailableError(Exception):
    """A provider cannot be used here. `code` is stable, `hint` the next step; neither holds a secret."""

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
