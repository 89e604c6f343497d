"""Embedding providers behind one protocol."""

from __future__ import annotations

from backends.embedding.base import (
    BAD_REPLY,
    HARMLESS,
    QUOTA,
    BatchSpec,
    Embedder,
    EmbeddingIdentity,
    EmbeddingSpec,
    EmbeddingUnavailableError,
    Expected,
    Media,
    MediaEmbedder,
    Side,
    Vectors,
)
from backends.embedding.choice import create, expected, resolve

__all__ = [
    "BAD_REPLY",
    "HARMLESS",
    "QUOTA",
    "BatchSpec",
    "Embedder",
    "EmbeddingIdentity",
    "EmbeddingSpec",
    "EmbeddingUnavailableError",
    "Expected",
    "Media",
    "MediaEmbedder",
    "Side",
    "Vectors",
    "create",
    "expected",
    "resolve",
]
