"""What is told about agents."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from backends.base import Failure, Mode
from backends.breaker import State
from backends.corpus import Kind
from sidecar.agents import AgentState
from sidecar.gateway.replies.shared import Engine, Fallback, Notice, Pending, UnixTime


class AgentSummary(TypedDict):
    """One agent in short."""

    id: str
    workspace: str
    backend: Annotated[Engine, Field(description="The engine in use.")]
    state: AgentState


class AgentList(TypedDict):
    """All agents, in the order of the configuration."""

    agents: list[AgentSummary]


class Environment(TypedDict):
    """The variables for a `qmd` of one's own, by name."""

    environment: dict[str, str]


class Report(TypedDict):
    """What one sync of one engine did; `ran` is false where there was nothing to do, or `detail` says why not."""

    engine: Engine
    ran: bool
    changed: int
    removed: int
    unchanged: int
    embedded: int
    skipped: Annotated[dict[str, str], Field(description="By file: why it is not indexed.")]
    detail: str
    tookMs: int


class LastSync(Report):
    """The newest sync that went well."""

    at: UnixTime


class Estimate(TypedDict):
    """What the next sync would embed, and by whom. Tokens are a guess."""

    provider: str
    model: str | None
    hosted: Annotated[bool, Field(description="Texts go over HTTP.")]
    rebuild: Annotated[bool, Field(description="The index is built anew beside the present one.")]
    files: int
    chunks: int
    tokens: int
    cached: int
    kept: Annotated[int, Field(description="Chunks that have their vectors already.")]


class SyncReply(TypedDict):
    """What was done, or with `queued` that it is being done; `estimate` alone does nothing."""

    queued: bool
    reports: list[Report]
    notices: NotRequired[Annotated[list[Notice], Field(description="Why an engine could not.")]]
    estimate: NotRequired[Estimate]


class Breaker(TypedDict):
    """The circuit breaker that keeps a failing engine, `of`, out of the way."""

    of: str
    state: State
    optional: Annotated[bool, Field(description="The engine was only wanted if present.")]
    reason: NotRequired[str]
    since: NotRequired[UnixTime]
    nextProbeAt: NotRequired[UnixTime]


class SyncFailure(Notice):
    """Why the last sync of an engine failed."""

    at: UnixTime


class Progress(TypedDict):
    """How far a sync under way is; the numbers only where the phase has some."""

    phase: str
    done: NotRequired[int]
    total: NotRequired[int]
    perSecond: NotRequired[Annotated[float, Field(description="Since the phase began.")]]


class EmbeddingChoice(TypedDict):
    """Which embedding provider was configured, and which one that came to."""

    requested: str
    provider: str
    model: str | None
    chosenBy: str
    required: bool
    reason: NotRequired[str]
    fallback: NotRequired[Annotated[str, Field(description="The second provider.")]]


class EngineFacts(TypedDict):
    """What every engine tells."""

    ready: bool
    documents: int | None
    syncing: NotRequired[bool]
    lastError: NotRequired[SyncFailure]


class BuiltinIndex(TypedDict):
    """One SQLite index. What only a look inside tells is left out until there is one."""

    sizeBytes: int
    buildingBytes: NotRequired[int]
    progress: NotRequired[Progress]
    chunks: NotRequired[int]
    vectors: NotRequired[int]
    provider: NotRequired[str | None]
    model: NotRequired[str | None]
    dims: NotRequired[int | None]
    vectorStore: NotRequired[str | None]
    lastSync: NotRequired[UnixTime | None]
    skipped: NotRequired[Annotated[dict[str, str], Field(description="By file: why it is not indexed.")]]


class BuiltinEngine(EngineFacts, BuiltinIndex):
    """The built-in engine, and the index of a second embedding provider where there is one."""

    secondProvider: NotRequired[BuiltinIndex]
    embeddingFallback: NotRequired[Fallback]
    embedding: NotRequired[EmbeddingChoice]


class Resident(TypedDict):
    """The warm `qmd mcp` of an agent; without a `pid` there is none, `reason` says why where it failed."""

    state: str
    pid: int | None
    reason: NotRequired[Failure]
    busy: NotRequired[bool]
    rssBytes: NotRequired[int | None]
    startedAt: NotRequired[UnixTime]
    calls: NotRequired[int]


class Held(TypedDict):
    """A folder whose loss is not believed yet: its old index is kept."""

    name: str
    reason: str
    since: UnixTime
    filesLeft: int


class Ignored(TypedDict):
    """Files that qmd does not index."""

    count: int
    atLeast: bool
    sample: list[str]


class Attempt(TypedDict):
    """The last run of `qmd update` or `qmd embed`, with a pause after failures; no `at` where none ran yet."""

    at: NotRequired[UnixTime]
    result: NotRequired[Annotated[str, Field(description="`ok`, or the class of the failure.")]]
    lastGoodAt: UnixTime | None
    failures: NotRequired[int]
    nextAttemptAt: NotRequired[UnixTime]


class QmdEngine(EngineFacts):
    """QMD; null is what is not known yet."""

    version: str | None
    tried: Annotated[bool | None, Field(description="This version is one that was tested.")]
    binary: str | None
    mode: Mode
    resident: Resident
    processes: list[int]
    models: Annotated[dict[str, bool] | None, Field(description="By use: whether the model is there.")]
    collections: list[str]
    held: list[Held]
    ignored: Ignored
    vectorsPending: int | None
    lastUpdate: Attempt
    lastEmbed: Attempt


class Engines(TypedDict):
    """The engines of an agent."""

    builtin: NotRequired[BuiltinEngine]
    qmd: NotRequired[QmdEngine]


class Root(TypedDict):
    """A folder of memory; `shown` begins the paths of what it holds."""

    name: str
    kind: Kind
    path: str
    pattern: str
    shown: str


class Probe(TypedDict):
    """A real embedding: the model that answered and after how long, or `error`, or in `detail` why nobody was asked."""

    provider: str
    model: NotRequired[str]
    dims: NotRequired[int]
    tookMs: NotRequired[float]
    error: NotRequired[Notice]
    detail: NotRequired[str]
    second: NotRequired[Annotated[Probe, Field(description="The same of the second provider.")]]


class AgentStatus(AgentSummary):
    """One agent in full."""

    fallback: NotRequired[Fallback]
    breaker: NotRequired[Breaker]
    documents: int | None
    pending: NotRequired[Pending]
    lastSync: NotRequired[LastSync]
    nextUpdateAt: NotRequired[UnixTime]
    engines: Engines
    roots: list[Root]
    notices: list[Notice]
    embedding: NotRequired[Annotated[Probe, Field(description="With `deep` only.")]]


class WorkerStatus(TypedDict):
    """The process that indexes and embeds."""

    state: Literal["stopped", "idle", "busy"]
    calls: int
    pid: NotRequired[int]
    rssBytes: NotRequired[int | None]
