"""What an agent's index is made of and with, and the job that brings it up to date in another process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import orjson

from backends.base import Notice, SyncReport
from backends.corpus import Corpus, Kind, Root
from backends.embedding import EmbeddingIdentity, EmbeddingSpec
from backends.passages.ordering import Ranking
from backends.relevance import Weights

#: Why there are no vectors although none were refused.
NO_MODEL = Notice(
    "embedding_missing",
    "No semantic model is installed; search uses keywords only.",
    "Install the extra: pip install 'qmd-sidecar[static]'",
)

#: Hears how far a job is: `{phase, done, total}`, the numbers only where the phase has some.
Report: TypeAlias = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltinOptions:
    """How one index is built and searched.

    Chunk sizes are in tokens; `hybrid` false searches by vectors alone where there are any; `cache_entries` bounds
    the embedding cache, 0 is off; `extension_path` is a sqlite-vec library instead of the packaged one; images and
    recordings of more than `most_media_bytes` are left out.
    """

    index: Path
    chunk_tokens: int = 400
    chunk_overlap: int = 80
    ranking: Ranking = field(default_factory=Ranking)
    candidate_multiplier: int = 4
    hybrid: bool = True
    vector_enabled: bool = True
    extension_path: Path | None = None
    cache_entries: int = 50_000
    embedding: EmbeddingSpec = field(default_factory=EmbeddingSpec)
    most_media_bytes: int = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexJob:
    """One sync of one index, complete in itself: it crosses a process border as JSON.

    `damaged`: a reader found that the index is, wherever the writer would not look; it is set aside and rebuilt.
    `purge`: see `SyncRequest`.
    """

    corpus: Corpus
    options: BuiltinOptions
    force: bool = False
    embed: bool = True
    damaged: bool = False
    purge: bool = False

    def to_json(self) -> bytes:
        """The job as one JSON object without line breaks."""
        return orjson.dumps(self, default=str)

    @classmethod
    def from_json(cls, data: bytes) -> IndexJob:
        """The job that `to_json` wrote."""
        raw = orjson.loads(data)
        return cls(
            corpus=_corpus(raw["corpus"]),
            options=_options(raw["options"]),
            force=raw["force"],
            embed=raw["embed"],
            damaged=raw["damaged"],
            purge=raw["purge"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a sync would have to embed, and by whom: `files`, `chunks`, `tokens` and `cached` as in `need.Need`.

    `provider` is `none` for keywords only, `model` None where only the provider knows it; `hosted`: texts go over
    HTTP. `rebuild`: the index is built anew beside the present one, since it is cut otherwise or has another's vectors.
    `kept` chunks have their vectors already.
    """

    provider: str
    model: str | None = None
    hosted: bool = False
    rebuild: bool = False
    files: int = 0
    chunks: int = 0
    tokens: int = 0
    cached: int = 0
    kept: int = 0


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A question's vector as little-endian float32, and whose it is: only vectors of the same can be compared."""

    data: bytes
    identity: EmbeddingIdentity


class Writer(Protocol):
    """The way to the process that writes indexes and holds the embedding model."""

    async def index(self, job: IndexJob, report: Report) -> SyncReport:
        """Run a job; `report` is called on the loop. Raises `BackendError`."""
        ...

    async def estimate(self, job: IndexJob) -> Estimate:
        """What the job would have to embed, without doing it. Raises `BackendError`."""
        ...

    async def embed_query(self, spec: EmbeddingSpec, text: str) -> QueryVector | None:
        """The query's vector, None without a semantic model. Raises `BackendError`."""
        ...

    async def probe(self, spec: EmbeddingSpec) -> QueryVector | None:
        """The same for a word of its own, although the provider may have failed a moment ago. Raises `BackendError`."""
        ...


class Embedded(Protocol):
    """An engine with vectors, as operators ask about them."""

    @property
    def providers(self) -> tuple[EmbeddingSpec, ...]:
        """What notes and questions are embedded by, the first choice first."""
        ...

    async def estimate(self) -> Estimate:
        """What a sync would have to embed by the first choice. Raises `BackendError`."""
        ...


def _corpus(raw: dict[str, Any]) -> Corpus:
    roots = tuple(
        Root(**{**_tuples(root), "kind": Kind(root["kind"]), "path": Path(root["path"])}) for root in raw["roots"]
    )
    return Corpus(raw["agent_id"], Path(raw["workspace"]), roots)


def _tuples(raw: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}


def _options(raw: dict[str, Any]) -> BuiltinOptions:
    extension = raw["extension_path"]
    return BuiltinOptions(
        **{
            **raw,
            "index": Path(raw["index"]),
            "ranking": Ranking(**{**raw["ranking"], "weights": Weights(**raw["ranking"]["weights"])}),
            "extension_path": Path(extension) if extension else None,
            "embedding": EmbeddingSpec.from_json(raw["embedding"]),
        }
    )
