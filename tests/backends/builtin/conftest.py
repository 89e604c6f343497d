"""A workspace of real files, and the engine over it with the worker's part run in the same process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends.base import Answer, Query, SyncReport, SyncRequest
from backends.builtin import (
    BuiltinBackend,
    BuiltinOptions,
    EmbeddingSpec,
    Estimate,
    IndexJob,
    QueryVector,
    Report,
    estimate,
    run_index_job,
)
from backends.corpus import Corpus, Kind, Root
from backends.embedding import Embedder, EmbeddingIdentity, Vectors
from backends.relevance import Spread
from backends.text.scripts import Script
from backends.text.tokens import index_terms

SYNONYMS = {"automobil": "car", "vehicl": "car"}
KEYWORDS_ONLY = EmbeddingSpec(provider="none")


class ToyEmbedder:
    """Words hashed into a few dimensions, with synonyms: small, exact, and it counts what it was asked."""

    batch_texts = 128
    concurrency = 0

    def usual_spread(self, script: Script) -> Spread:
        return Spread(0.1, 0.8)

    def __init__(self, model: str = "toy", dims: int = 64) -> None:
        self.identity = EmbeddingIdentity(provider="static", model=model, dims=dims)
        self.texts: list[str] = []

    def embed(self, texts: Any) -> Vectors:
        self.texts += texts
        rows = np.zeros((len(texts), self.identity.dims), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for term in index_terms(text):
                seed = int.from_bytes(SYNONYMS.get(term, term).encode()[:7])
                row += np.random.default_rng(seed).standard_normal(self.identity.dims)
            row /= np.linalg.norm(row) or 1.0
        return rows

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self.embed([text])[0]
        return vector


class InProcessWriter:
    """The worker's calls without the process; the job still goes through JSON.

    `embedder` is the configured model; `others` are asked for by the names of their models.
    """

    def __init__(self, embedder: Embedder | None) -> None:
        self.embedder = embedder
        self.others: dict[str, Embedder] = {}
        self.progress: list[dict[str, Any]] = []
        self.hang = False

    async def index(self, job: IndexJob, report: Report) -> SyncReport:
        job = IndexJob.from_json(job.to_json())

        def heard(progress: dict[str, Any]) -> None:
            self.progress.append(progress)
            report(progress)

        return run_index_job(job, embedder_for=lambda spec: self.embedder, report=heard)

    async def embed_query(self, spec: EmbeddingSpec, text: str) -> QueryVector | None:
        if self.hang:
            await asyncio.Event().wait()
        model = self.others.get(spec.model or "", self.embedder)
        return model and QueryVector(model.embed_query(text).astype("<f4").tobytes(), model.identity)

    async def estimate(self, job: IndexJob) -> Estimate:
        return estimate(IndexJob.from_json(job.to_json()))

    async def probe(self, spec: EmbeddingSpec) -> QueryVector | None:
        return await self.embed_query(spec, "memory")


class Desk:
    """One agent's notes and its engine, driven synchronously."""

    def __init__(self, home: Path, pool: Executor, embedder: Embedder | None, **options: Any) -> None:
        self.workspace = home / "workspace"
        (self.workspace / "memory").mkdir(parents=True, exist_ok=True)
        self.index = home / "state" / "main.sqlite"
        self.writer = InProcessWriter(embedder)
        self.pool = pool
        self.options = options
        self.backend = self.reopened()

    def reopened(self, **changes: Any) -> BuiltinBackend:
        """A fresh engine over the same files and index."""
        root = {"path": self.workspace, "kind": Kind.CURATED, "shown": ""}
        corpus = Corpus(
            "main",
            self.workspace,
            (
                Root(name="memory-root", patterns=("MEMORY.md", "memory.md"), **root),
                Root(
                    name="memory-dir",
                    kind=Kind.DAILY,
                    path=self.workspace / "memory",
                    patterns=("**/*.md",),
                    shown="memory/",
                ),
            ),
        )
        options = BuiltinOptions(index=self.index, **{**self.options, **changes})
        self.job = IndexJob(corpus=corpus, options=options)
        self.backend = BuiltinBackend(corpus=corpus, options=options, writer=self.writer, pool=self.pool)
        return self.backend

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def run(self, report: Callable[[dict[str, Any]], None] = lambda progress: None, **more: Any) -> SyncReport:
        """The worker's part of a sync alone; `report` may search, or raise like a kill."""
        return run_index_job(self.job, embedder_for=lambda spec: self.writer.embedder, report=report, **more)

    def sync(self, **request: Any) -> SyncReport:
        return asyncio.run(self.backend.sync(SyncRequest(reason="test", **request)))

    def answer(self, text: str, **fields: Any) -> Answer:
        return asyncio.run(self.ask(text, **fields))

    async def ask(self, text: str, *, timeout_s: float = 10.0, **fields: Any) -> Answer:
        asked = {"max_results": 6, "min_score": 0.35, "max_chars": 700, **fields}
        return await self.backend.search(Query(text=text, deadline_at=time.monotonic() + timeout_s, **asked))

    def paths(self, text: str, **fields: Any) -> list[str]:
        return [hit.path for hit in self.answer(text, **fields).hits]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.fixture
def make_desk(tmp_path: Path, pool: ThreadPoolExecutor) -> Iterator[Callable[..., Desk]]:
    made: list[Desk] = []

    def make(embedder: Embedder | None = None, **options: Any) -> Desk:
        if embedder is None:
            options.setdefault("embedding", KEYWORDS_ONLY)
        made.append(Desk(tmp_path / str(len(made)), pool, embedder, **options))
        return made[-1]

    yield make
    for desk in made:
        asyncio.run(desk.backend.close())


@pytest.fixture
def desk(make_desk: Callable[..., Desk]) -> Desk:
    """Keywords only."""
    return make_desk()


@pytest.fixture
def semantic(make_desk: Callable[..., Desk]) -> Desk:
    """Keywords and the toy vectors."""
    return make_desk(ToyEmbedder())
