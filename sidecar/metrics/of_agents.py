"""What is measured of agents. Their ids are the only free labels, and as many as the configuration names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

from backends.breaker import State
from sidecar.agents import AgentState
from sidecar.metrics.metric import Metric, Row, counted, one_of
from sidecar.metrics.scene import AgentScene, Scene

_ENGINES = ("builtin", "qmd")


def _each(rows: Callable[[AgentScene], Iterator[Row] | list[Row]]) -> Callable[[Scene], Iterator[Row]]:
    """The rows of every agent."""

    def read(scene: Scene) -> Iterator[Row]:
        for agent in scene.agents:
            yield from rows(agent)

    return read


def _value(value: Callable[[AgentScene], float | None]) -> Callable[[Scene], Iterator[Row]]:
    """One row for every agent that has a value."""
    return _each(lambda agent: [] if (found := value(agent)) is None else [((agent.id,), found)])


def _fact(name: str) -> Callable[[Scene], Iterator[Row]]:
    """A fact of every engine that tells it."""

    def rows(agent: AgentScene) -> Iterator[Row]:
        for engine in _ENGINES:
            if (found := agent.engine(engine).get(name)) is not None:
                yield (agent.id, engine), found

    return _each(rows)


def _breaker(agent: AgentScene) -> list[Row]:
    breaker = agent.status.get("breaker")
    return one_of(State, breaker["state"], agent.id) if breaker else []


def _pending(name: str) -> Callable[[AgentScene], float]:
    return lambda agent: agent.status.get("pending", {}).get(name, 0)


def _log_bytes(agent: AgentScene) -> float | None:
    log = agent.agent.settings.index_path
    with suppress(FileNotFoundError):
        return log.with_name(f"{log.name}-wal").stat().st_size
    return 0 if agent.engine("builtin") else None


def _successes(agent: AgentScene) -> Iterator[Row]:
    for engine, at in agent.agent.syncs.good_at.items():
        yield (agent.id, f"{engine}_sync"), at
    for job, fact in (("qmd_update", "lastUpdate"), ("qmd_embed", "lastEmbed")):
        if at := agent.engine("qmd").get(fact, {}).get("lastGoodAt"):
            yield (agent.id, job), at
    exports = agent.agent.exports
    if exports is not None and exports.good_at is not None:
        yield (agent.id, "export"), exports.good_at


def _redacted(agent: AgentScene) -> list[Row]:
    return counted(agent.agent.exports.redacted, agent.id) if agent.agent.exports else []


METRICS = (
    Metric(
        "qmd_sidecar_agent_state",
        "gauge",
        ("agent", "state"),
        "1 for the state that the agent is in, 0 for the others.",
        _each(lambda agent: one_of(AgentState, agent.status["state"], agent.id)),
    ),
    Metric(
        "qmd_sidecar_backend_active",
        "gauge",
        ("agent", "backend"),
        "1 for the engine in use, 0 for the other.",
        _each(lambda agent: one_of(_ENGINES, agent.status["backend"], agent.id)),
    ),
    Metric(
        "qmd_sidecar_breaker_state",
        "gauge",
        ("agent", "state"),
        "1 for the state of the circuit breaker of an agent with two engines, 0 for the others.",
        _each(_breaker),
    ),
    Metric(
        "qmd_sidecar_notices",
        "gauge",
        ("agent",),
        "How many notices the status of the agent shows.",
        _value(lambda agent: len(agent.status["notices"])),
    ),
    Metric(
        "qmd_sidecar_index_dirty",
        "gauge",
        ("agent",),
        "1 while files wait to be indexed.",
        _value(lambda agent: float("pending" in agent.status)),
    ),
    Metric(
        "qmd_sidecar_index_pending_files",
        "gauge",
        ("agent",),
        "Files that the index in use does not hold yet, as far as is known.",
        _value(_pending("files")),
    ),
    Metric(
        "qmd_sidecar_index_pending_oldest_seconds",
        "gauge",
        ("agent",),
        "How long the oldest of them has been waiting.",
        _value(_pending("oldestSeconds")),
    ),
    Metric(
        "qmd_sidecar_index_documents",
        "gauge",
        ("agent", "backend"),
        "Files in the index; missing until it was looked at.",
        _fact("documents"),
    ),
    Metric(
        "qmd_sidecar_index_chunks",
        "gauge",
        ("agent", "backend"),
        "Passages that the built-in index is cut into.",
        _fact("chunks"),
    ),
    Metric(
        "qmd_sidecar_index_vectors",
        "gauge",
        ("agent", "backend"),
        "Those of them that have a vector.",
        _fact("vectors"),
    ),
    Metric(
        "qmd_sidecar_index_pending_vectors",
        "gauge",
        ("agent", "backend"),
        "Texts without a vector, as the last `qmd update` told.",
        _fact("vectorsPending"),
    ),
    Metric(
        "qmd_sidecar_index_bytes",
        "gauge",
        ("agent", "backend"),
        "The built-in index on disk, with its log.",
        _fact("sizeBytes"),
    ),
    Metric(
        "qmd_sidecar_index_wal_bytes",
        "gauge",
        ("agent",),
        "The write-ahead log of the built-in index.",
        _value(_log_bytes),
    ),
    Metric(
        "qmd_sidecar_held_roots",
        "gauge",
        ("agent",),
        "Folders whose loss is not believed yet: their old index is kept.",
        _value(lambda agent: len(agent.engine("qmd").get("held", ()))),
    ),
    Metric(
        "qmd_sidecar_child_rss_bytes",
        "gauge",
        ("agent",),
        "Memory of the agent's warm qmd with its descendants, when it was last measured.",
        _value(lambda agent: agent.engine("qmd").get("resident", {}).get("rssBytes")),
    ),
    Metric(
        "qmd_sidecar_syncs_waiting",
        "gauge",
        ("agent",),
        "Syncs that wait behind the ones under way.",
        _value(lambda agent: agent.agent.syncs.waiting),
    ),
    Metric(
        "qmd_sidecar_job_last_success_timestamp_seconds",
        "gauge",
        ("agent", "job"),
        "When a job went well: `builtin_sync`, `qmd_sync`, `qmd_update`, `qmd_embed`, `export`. What had nothing to do"
        " went well.",
        _each(_successes),
    ),
    Metric(
        "qmd_sidecar_syncs_total",
        "counter",
        ("agent", "backend", "result"),
        "Syncs by result: `changed`, `nothing` to do, or the class of the failure.",
        _each(lambda agent: counted(agent.agent.syncs.tally.results, agent.id)),
    ),
    Metric(
        "qmd_sidecar_vectors_total",
        "counter",
        ("agent", "source"),
        "Vectors that passages were given, from the `cache` or by the `model`.",
        _each(lambda agent: counted(agent.agent.syncs.tally.vectors, agent.id)),
    ),
    Metric(
        "qmd_sidecar_denials_total",
        "counter",
        ("agent", "kind"),
        "Requests that scope denied, by the kind of the session.",
        _each(lambda agent: counted(agent.agent.denials, agent.id)),
    ),
    Metric(
        "qmd_sidecar_redactions_total",
        "counter",
        ("agent", "kind"),
        "Secrets that were replaced in exported conversations; one that is exported anew counts anew.",
        _each(_redacted),
    ),
)
