"""The engine that is always there: one SQLite file per agent, keywords and vectors, no service needed."""

from __future__ import annotations

from backends.builtin.backend import BuiltinBackend
from backends.builtin.indexing import run_index_job
from backends.builtin.options import BuiltinOptions, IndexJob, Writer
from backends.embedding import EmbeddingSpec

__all__ = ["BuiltinBackend", "BuiltinOptions", "EmbeddingSpec", "IndexJob", "Writer", "run_index_job"]
