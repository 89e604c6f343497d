"""Embedding providers behind one protocol."""

from __future__ import annotations

from backends.embedding.base import (
    QUOTA,
    BatchSpec,
    Embedder,
    EmbeddingIdentity,
    EmbeddingSpec,
    EmbeddingUnavailableError,
    Media,
    MediaEmbedder,
    Side,
    Vectors,
)
from backends.embedding.choice import create, resolve

__all__ = [
    "QUOTA",
    "BatchSpec",
    "Embedder",
    "EmbeddingIdentity",
    "EmbeddingSpec",
    "EmbeddingUnavailableError",
    "Media",
    "MediaEmbedder",
    "Side",
    "Vectors",
    "create",
    "resolve",
]
