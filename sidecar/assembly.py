"""Agents made from their settings, each with the jobs that keep it up to date."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from backends.base import Backend, Notice
from backends.corpus import Corpus
from exporter import ExportJob
from sidecar.agents import Agent
from sidecar.agents.threads import Threads
from sidecar.config import AgentSettings, Memory, Provider, Settings, resolve_corpus
from sidecar.config.roots import Places, places_of
from sidecar.config.schema import Limits, Visibility
from sidecar.engines import Engines, Shared, build
from sidecar.scheduler import Scheduler
from sidecar.sessions.conversations import Conversations
from sidecar.sessions.exporting import Exports, export_job, transcripts_dir
from sidecar.worker.process import Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything that an agent is made from: of equal recipes come equal agents, and none has to be made anew.

    `settings` are those that it was worked out from. They are not compared, nor is what is looked up at every request:
    scope rules, limits and citations.
    """

    agent: AgentSettings
    memory: Memory
    corpus: Corpus
    notices: tuple[Notice, ...]
    export: ExportJob | None
    transcripts: Path
    visibility: Visibility
    providers: Mapping[str, Provider]
    variables: Mapping[str, str] = field(repr=False)
    settings: Settings = field(repr=False, compare=False)

    @classmethod
    def of(cls, settings: Settings, agent: AgentSettings, places: Places) -> Recipe:
        """The recipe of an agent. Looks at the disk: which files there are decides what its roots are."""
        corpus, notices = resolve_corpus(settings, agent, places)
        return cls(
            agent=agent,
            memory=_without_looked_up(settings.memory),
            corpus=corpus,
            notices=notices,
            export=export_job(settings, agent),
            transcripts=transcripts_dir(settings, agent),
            visibility=settings.visibility,
            providers=settings.providers,
            variables=settings.variables,
            settings=settings,
        )


def recipes_of(settings: Settings) -> dict[str, Recipe]:
    """The recipe of every agent, by id. Looks at the disk."""
    places = places_of(settings)
    return {agent.id: Recipe.of(settings, agent, places) for agent in settings.agents.values()}


def _without_looked_up(memory: Memory) -> Memory:
    defaults = Memory().qmd
    qmd = memory.qmd.model_copy(update={"limits": Limits(), "scope": defaults.scope})
    return memory.model_copy(update={"citations": "auto", "qmd": qmd})


class Assembly:
    """Makes agents, and knows the recipe of each."""

    def __init__(self, shared: Shared, worker: Worker, scheduler: Scheduler) -> None:
        self._shared = shared
        self._worker = worker
        self._scheduler = scheduler

    def make(self, recipe: Recipe) -> Agent:
        """An agent that nobody knows yet, and nothing has been opened for."""
        threads = Threads()
        settings, job, visibility, pool = recipe.agent, recipe.export, recipe.visibility, threads.search
        engines = build(recipe.settings, settings, recipe.corpus, self._shared, pool)
        return Agent(
            settings,
            corpus=recipe.corpus,
            policy=recipe.settings.policy,
            search=engines.search,
            engines=_synced(recipe, engines),
            notices=recipe.notices,
            exports=Exports(settings, job, self._worker.export) if job else None,
            conversations=Conversations(settings.id, job, visibility, pool) if job else None,
            on_synced=engines.on_synced,
            publish=self._shared.publish,
            configured={"builtin": {"embedding": engines.embedding.to_json()}} if engines.embedding else None,
            environment=engines.qmd_environment,
            builtin=engines.builtin,
            next_update=lambda: self._next_update(settings.id),
            threads=threads,
        )

    def employ(self, agent: Agent, recipe: Recipe) -> None:
        """Give an agent its jobs, in place of those that one of its name had."""
        self.dismiss(agent.id)
        if not agent.enabled:
            return
        update = recipe.memory.qmd.update
        intervals = {
            "builtin": recipe.agent.search.sync.interval_minutes * 60.0 or update.interval_s,
            "qmd": update.interval_s,
        }
        for engine in agent.syncs.engines:
            self._scheduler.every(
                intervals[engine], f"{agent.id}.{engine}", partial(agent.syncs.run, engine, "interval")
            )

    def dismiss(self, agent_id: str) -> None:
        """End the jobs of an agent."""
        for job in _jobs(agent_id):
            self._scheduler.cancel(job)

    def _next_update(self, agent_id: str) -> float | None:
        """When the first of an agent's engines is brought up to date next, in Unix seconds."""
        runs = map(self._scheduler.next_run, _jobs(agent_id))
        return min((run for run in runs if run is not None), default=None)


def _jobs(agent_id: str) -> tuple[str, ...]:
    return f"{agent_id}.builtin", f"{agent_id}.qmd"


def _synced(recipe: Recipe, engines: Engines) -> dict[str, tuple[Backend, float]]:
    """The engines by name, each with its least pause between unforced syncs in seconds."""
    pauses = {
        "builtin": recipe.agent.search.sync.watch_debounce_ms / 1000,
        "qmd": recipe.memory.qmd.update.debounce_ms / 1000,
    }
    present = {"builtin": engines.builtin, "qmd": engines.qmd}
    return {name: (engine, pauses[name]) for name, engine in present.items() if engine is not None}
