"""Embedding providers behind one protocol."""

from __future__ import annotations

from backends.embedding.base import (
    Embedder,
    EmbeddingIdentity,
    EmbeddingSpec,
    EmbeddingUnavailableError,
    Vectors,
)
from backends.embedding.choice import create, resolve

__all__ = [
    "Embedder",
    "EmbeddingIdentity",
    "EmbeddingSpec",
    "EmbeddingUnavailableError",
    "Vectors",
    "create",
    "resolve",
]
