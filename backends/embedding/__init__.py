"""Embedding providers behind one protocol."""

from __future__ import annotations

from backends.embedding.base import (
    BatchSpec,
    Embedder,
    EmbeddingIdentity,
    EmbeddingSpec,
    EmbeddingUnavailableError,
    Side,
    Vectors,
)
from backends.embedding.choice import create, resolve

__all__ = [
    "BatchSpec",
    "Embedder",
    "EmbeddingIdentity",
    "EmbeddingSpec",
    "EmbeddingUnavailableError",
    "Side",
    "Vectors",
    "create",
    "resolve",
]
