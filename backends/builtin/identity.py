"""What an index was built with: how its notes were cut, and whose vectors they have."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import apsw

from backends.builtin.chunking import CHUNKING_VERSION
from backends.builtin.meta import publish, read_meta, write_meta
from backends.builtin.options import BuiltinOptions
from backends.builtin.schema import fetch_value
from backends.embedding import EmbeddingIdentity
from backends.text.tokens import TOKENS_VERSION


@dataclass(frozen=True, slots=True)
class Cut:
    """The sizes of chunks, in tokens."""

    tokens: int
    overlap: int

    @classmethod
    def of(cls, options: BuiltinOptions) -> Cut:
        """What a configuration asks for."""
        return cls(options.chunk_tokens, options.chunk_overlap)

    def stored(self) -> list[int]:
        """As an index remembers it, with the versions of what cuts texts and makes terms of them."""
        return [self.tokens, self.overlap, CHUNKING_VERSION, TOKENS_VERSION]


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """What stands in an index: `chunking` and `embedding` as stored, None before the first of its kind."""

    chunking: list[int] | None
    embedding: Mapping[str, Any] | None
    has_chunks: bool
    has_vectors: bool

    @classmethod
    def of(cls, connection: apsw.Connection) -> Present:
        """Look. Raises `DamagedError`."""
        meta = read_meta(connection)
        return cls(
            chunking=meta.get("chunking"),
            embedding=meta.get("embedding"),
            has_chunks=bool(fetch_value(connection, "SELECT EXISTS (SELECT 1 FROM chunks)")),
            has_vectors=bool(fetch_value(connection, "SELECT EXISTS (SELECT 1 FROM chunks WHERE stamp > 0)")),
        )

    def cut(self, wanted: Cut) -> Cut:
        """How to cut notes that join those that are there: like them."""
        return Cut(*self.chunking[:2]) if self.has_chunks and self.chunking else wanted

    def is_cut_otherwise(self, wanted: Cut) -> bool:
        """Whether what is there was cut in another way."""
        return self.has_chunks and self.chunking != wanted.stored()

    def has_vectors_of_another(self, identity: EmbeddingIdentity) -> bool:
        """Whether there are vectors that cannot be compared with those of `identity`."""
        return self.has_vectors and self.embedding != asdict(identity)


def adopt_cut(connection: apsw.Connection, cut: Cut) -> None:
    """Note how the chunks to come are cut."""
    write_meta(connection, chunking=cut.stored())


def adopt_embedding(connection: apsw.Connection, identity: EmbeddingIdentity) -> None:
    """Note whose vectors are to come, if it is news. There must be none of another's."""
    if read_meta(connection).get("embedding") == asdict(identity):
        return
    with connection:
        publish(
            connection,
            embedding=asdict(identity),
            # Unlike that of any other file: readers keep vectors in memory from one file to the next.
            epoch=time.time_ns(),
            vec_complete=False,
            spreads=None,
            declined_media=[],
        )
