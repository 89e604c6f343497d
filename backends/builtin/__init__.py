"""The engine that is always there: one SQLite file per agent, keywords and vectors, no service needed."""

from __future__ import annotations

from backends.builtin.backend import BuiltinBackend
from backends.builtin.estimating import estimate
from backends.builtin.indexing import run_index_job
from backends.builtin.options import NO_MODEL, BuiltinOptions, Embedded, Estimate, IndexJob, QueryVector, Report, Writer
from backends.builtin.second_provider import SecondProvider
from backends.embedding import EmbeddingIdentity, EmbeddingSpec

__all__ = [
    "NO_MODEL",
    "BuiltinBackend",
    "BuiltinOptions",
    "Embedded",
    "EmbeddingIdentity",
    "EmbeddingSpec",
    "Estimate",
    "IndexJob",
    "QueryVector",
    "Report",
    "SecondProvider",
    "Writer",
    "estimate",
    "run_index_job",
]
