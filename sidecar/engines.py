"""From configuration to engines: which ones an agent has, and how they stand to each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from backends.base import Backend, Fallback
from backends.builtin import BuiltinBackend, BuiltinOptions, EmbeddingSpec, SecondProvider, Writer
from backends.corpus import Corpus
from backends.failover import Failover
from backends.passages.ordering import Ranking
from backends.qmd import QmdBackend, QmdHome, QmdOptions, ResidentPool, agent_environment
from backends.qmd.install import which
from backends.relevance import Weights
from sidecar import places
from sidecar.config import AgentSettings, EmbeddingChoice, Settings, choose
from sidecar.config.variables import expand
from sidecar.events import EventType, Publish
from sidecar.governor import Governor


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What all agents of a daemon share."""

    writer: Writer
    governor: Governor
    residents: ResidentPool
    environ: Mapping[str, str]
    publish: Publish


#: The built-in engine of an agent, with one embedding provider or two.
Builtin: TypeAlias = BuiltinBackend | SecondProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """`search` answers; `qmd` and `builtin` are its parts, as far as the agent has them.

    `embedding` is what the built-in index is embedded with, None without such an index.
    `qmd_environment` lets a person's own qmd use the same index.
    `on_synced` is to be called after a sync of either: it may have healed an engine that is given a pause.
    """

    search: Backend
    builtin: Builtin | None = None
    qmd: QmdBackend | None = None
    embedding: EmbeddingChoice | None = None
    qmd_environment: Mapping[str, str] | None = None
    on_synced: Callable[[], None] = lambda: None


def build(settings: Settings, agent: AgentSettings, corpus: Corpus, shared: Shared, pool: Executor) -> Engines:
    """The engines of one agent, which read in `pool`. Opens and starts nothing."""
    memory = settings.memory
    embedding = choose(settings, agent)
    if memory.backend == "builtin" or (
        memory.backend == "auto" and memory.fallback == "none" and not _has_qmd(settings, shared)
    ):
        builtin = _builtin(settings, agent, corpus, shared, pool, embedding)
        return Engines(search=builtin, builtin=builtin, embedding=embedding)
    environment = agent_environment(qmd_home(settings, agent, shared.environ), shared.environ)
    if memory.fallback == "none":
        qmd = _qmd(settings, agent, corpus, shared, pool, None)
        return Engines(search=qmd, qmd=qmd, qmd_environment=environment)
    builtin = _builtin(settings, agent, corpus, shared, pool, embedding)
    qmd = _qmd(settings, agent, corpus, shared, pool, builtin)
    both = Failover(
        qmd,
        builtin,
        optional=memory.backend == "auto",
        merge=memory.merge,
        agent_id=agent.id,
        on_switch=_switches(agent.id, shared),
    )
    return Engines(
        search=both,
        builtin=builtin,
        qmd=qmd,
        embedding=embedding,
        qmd_environment=environment,
        on_synced=both.wake,
    )


def _switches(agent_id: str, shared: Shared) -> Callable[[Fallback | None], None]:
    """Tells of an agent's changes between its engines."""

    def told(fallback: Fallback | None) -> None:
        if fallback is None:
            shared.publish(EventType.ENGINE_RECOVERED, agent_id, engine="qmd")
        else:
            shared.publish(EventType.ENGINE_FAILED_OVER, agent_id, engine=fallback.origin, reason=fallback.reason)

    return told


def _has_qmd(settings: Settings, shared: Shared) -> bool:
    return which(settings.memory.qmd.command, shared.environ.get("PATH", os.defpath)) is not None


def _builtin(
    settings: Settings,
    agent: AgentSettings,
    corpus: Corpus,
    shared: Shared,
    pool: Executor,
    embedding: EmbeddingChoice,
) -> Builtin:
    options = _builtin_options(settings, agent, embedding.first)

    def engine(options: BuiltinOptions) -> BuiltinBackend:
        return BuiltinBackend(corpus=corpus, options=options, writer=shared.writer, pool=pool)

    if embedding.second is None:
        return engine(options)
    # A question that the first cannot embed is for the second then, and not to be answered without vectors.
    first = replace(options, embedding=replace(embedding.first, required=True))
    second = replace(options, index=second_index(agent.index_path), embedding=embedding.second)
    return SecondProvider(engine(first), engine(second), provider=embedding.first.provider)


def second_index(index: Path) -> Path:
    """Where the vectors of a second embedding provider lie."""
    return index.with_name(f"{index.name}.second")


def _builtin_options(settings: Settings, agent: AgentSettings, embedding: EmbeddingSpec) -> BuiltinOptions:
    search = agent.search
    hybrid, vector = search.query.hybrid, search.store.vector
    return BuiltinOptions(
        index=agent.index_path,
        chunk_tokens=search.chunking.tokens,
        chunk_overlap=search.chunking.overlap,
        ranking=_ranking(agent),
        candidate_multiplier=hybrid.candidate_multiplier,
        hybrid=hybrid.enabled,
        vector_enabled=vector.enabled,
        extension_path=expand(vector.extension_path, settings.variables) if vector.extension_path else None,
        cache_entries=search.cache.max_entries if search.cache.enabled else 0,
        most_media_bytes=search.multimodal.max_file_bytes,
        embedding=embedding,
    )


def _qmd(
    settings: Settings,
    agent: AgentSettings,
    corpus: Corpus,
    shared: Shared,
    pool: Executor,
    builtin: Builtin | None,
) -> QmdBackend:
    qmd = settings.memory.qmd
    return QmdBackend(
        # qmd reads texts: what it would make of an image is noise.
        corpus=corpus.of_texts(),
        home=qmd_home(settings, agent, shared.environ),
        options=QmdOptions(
            command=qmd.command,
            mode=qmd.search_mode,
            rerank=qmd.rerank,
            command_timeout_s=qmd.update.command_timeout_ms / 1000,
            update_timeout_s=qmd.update.update_timeout_ms / 1000,
            embed_timeout_s=qmd.update.embed_timeout_ms / 1000,
            resident=qmd.resident.enabled,
            ranking=_ranking(agent),
        ),
        residents=shared.residents,
        turn=shared.governor.turn,
        statistics=builtin.statistics if builtin is not None else lambda: None,
        pool=pool,
        environ=shared.environ,
    )


def qmd_home(settings: Settings, agent: AgentSettings, environ: Mapping[str, str]) -> QmdHome:
    """Where the agent's qmd lives."""
    folder = agent.state_dir / "qmd"
    return QmdHome(
        config=folder / "xdg-config",
        cache=folder / "xdg-cache",
        work=folder / "work",
        models=models_folder(environ),
        state=settings.state_dir,
    )


def _ranking(agent: AgentSettings) -> Ranking:
    hybrid = agent.search.query.hybrid
    return Ranking(
        weights=Weights(vector=hybrid.vector_weight, text=hybrid.text_weight),
        half_life_days=hybrid.temporal_decay.half_life_days if hybrid.temporal_decay.enabled else None,
        mmr_lambda=hybrid.mmr.lambda_ if hybrid.mmr.enabled else None,
    )


def models_folder(environ: Mapping[str, str]) -> Path:
    """Where the user's own qmd keeps its models: two gigabytes that agents should share and not download again."""
    cache = environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else places.home(environ) / ".cache") / "qmd" / "models"
