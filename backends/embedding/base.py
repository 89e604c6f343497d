"""What every embedding provider offers, and how one is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from backends.relevance import Spread
from backends.text.scripts import Script

Vectors: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSpec:
    """Which provider and model a configuration asks for; `model` None is the provider's default."""

    provider: str = "auto"
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingIdentity:
    """Whose vectors these are: vectors of two identities are never compared.

    `key` tells apart what the model's name does not (endpoint, input type); it never holds a secret.
    """

    provider: str
    model: str
    dims: int
    key: str = ""


class Embedder(Protocol):
    """One loaded model. Calls are synchronous and belong into the worker process."""

    @property
    def identity(self) -> EmbeddingIdentity:
        """Whose vectors it makes."""
        ...

    def usual_spread(self, script: Script) -> Spread:
        """Where cosines of texts in a script lie, as far as an index is too small to tell."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit row of float32 per text, shape (len(texts), dims). A text without any known token is a zero row."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """The unit vector of a question, shape (dims,)."""
        ...


class EmbeddingUnavailableError(Exception):
    """A provider cannot be used here. `code` is stable, `hint` the next step; neither holds a secret."""

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
