"""`memorySearch`: what is indexed for an agent, how it is embedded, and how results are ranked."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, model_validator

from sidecar.config.values import Bytes, NotNegative, PathText, Pattern, Positive, Results, Strict, Unit, clamp


class Batch(Strict):
    """Embedding through a provider's batch interface."""

    enabled: bool = False
    """Whether 200 texts or more are sent as a batch."""
    wait: bool = True
    """Whether a sync waits for the results; else a later one fetches them."""
    concurrency: Annotated[int, clamp(1, 64)] = 2
    """How many batches are under way at once, 1 to 64."""
    poll_interval_ms: Positive = 2000
    """How often a batch is looked at."""
    timeout_minutes: Annotated[int, clamp(1, 7 * 24 * 60)] = 60
    """How long a batch may take, 1 minute to a week."""


class Remote(Strict):
    """Where and how a hosted provider is reached. Secret values print as stars."""

    base_url: str | None = None
    """The provider's address, without user, password or query."""
    api_key: SecretStr | None = None
    """The key; before those of `models.providers` and the environment."""
    headers: dict[str, SecretStr | None] = Field(default_factory=dict)
    """Sent with each request; null removes one."""
    batch: Batch = Batch()
    """The provider's batch interface."""


class Local(Strict):
    """A GGUF model on this machine: a file or an `hf:` address."""

    model_path: PathText | None = None
    """A file or an `hf:` address; without it a small embedding model from the hub."""
    model_cache_dir: PathText | None = None
    """Where downloaded models are kept."""


class Multimodal(Strict):
    """Images and audio below `extraPaths`."""

    enabled: bool = False
    """Whether images and recordings below `extraPaths` are sent to the provider and found."""
    modalities: tuple[Literal["image", "audio", "all"], ...] = ("image", "audio")
    """Which of them."""
    max_file_bytes: Bytes = 10_000_000
    """Larger files are left out. Takes units: `10mb`."""

    @property
    def kinds(self) -> frozenset[str]:
        """The modalities that are on: `image`, `audio`, both or none."""
        if not self.enabled:
            return frozenset()
        return frozenset({"image", "audio"}) if "all" in self.modalities else frozenset(self.modalities)


class ExtraPath(Strict):
    """One more folder or file to index. A bare text is a path."""

    path: PathText
    """A folder or a file; `~` is the home folder, a relative path starts at the agent's workspace."""
    pattern: Pattern = "**/*.md"
    """Which files of a folder: one glob."""
    trusted: bool = True
    """False: others write there, so what it says is data and no instruction."""

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else value


class Vector(Strict):
    """The sqlite-vec extension; without it the vectors are compared in numpy."""

    enabled: bool = True
    """Whether the extension is loaded."""
    extension_path: PathText | None = None
    """The extension's file; without it the one that is installed with the daemon."""


class Store(Strict):
    """The built-in index."""

    driver: Literal["sqlite"] = "sqlite"
    """The only one there is."""
    path: PathText = "{agentId}.sqlite"
    """The file; a relative path starts at `memory/` of the state folder, `{agentId}` is replaced."""
    vector: Vector = Vector()
    """The sqlite-vec extension."""


class Chunking(Strict):
    """The unit of embedding, in tokens."""

    tokens: Annotated[int, clamp(1, 100_000)] = 400
    """The length of a chunk, 1 to 100,000."""
    overlap: Annotated[int, clamp(0, 100_000)] = 80
    """How much of a chunk stands in the next one, too; less than `tokens`."""

    @model_validator(mode="after")
    def _overlap_below_tokens(self) -> Self:
        # The model is frozen for its users; this is still its construction.
        object.__setattr__(self, "overlap", min(self.overlap, self.tokens - 1))
        return self


class SessionSync(Strict):
    """How much a transcript must grow before it is indexed again; either is enough."""

    delta_bytes: NotNegative = 100_000
    """Growth of a transcript in bytes; 0 is any."""
    delta_messages: NotNegative = 50
    """Growth of a transcript in lines; 0 is any."""


class Sync(Strict):
    """When the index follows the files."""

    on_session_start: bool = True
    """Whether the start of a session queues a sync."""
    on_search: bool = True
    """Whether a search queues a sync."""
    watch: bool = True
    """Whether files are watched; else they are only looked at by the other syncs."""
    watch_debounce_ms: NotNegative = 1500
    """How long files must be quiet before they are indexed."""
    interval_minutes: NotNegative = 0
    """How often the built-in index is brought up to date; 0: as `memory.qmd.update.interval` says."""
    sessions: SessionSync = SessionSync()
    """How much a conversation must grow before it is indexed again; either is enough."""


class Mmr(Strict):
    """Diversity among the results."""

    enabled: bool = False
    """Whether likeness to better results counts."""
    lambda_: Unit = Field(default=0.7, alias="lambda")
    """1.0 is relevance alone, 0.0 diversity alone."""


class TemporalDecay(Strict):
    """Old daily notes count less."""

    enabled: bool = False
    """Whether age counts."""
    half_life_days: Annotated[float, clamp(1, 36_500)] = 30.0
    """The age at which a note counts half, 1 to 36,500 days."""


class Hybrid(Strict):
    """How keywords and vectors are combined."""

    enabled: bool = True
    """Whether keywords are searched beside vectors; false: vectors alone, where there are any."""
    vector_weight: Unit = 0.7
    """The share of the vector part in the relevance."""
    text_weight: Unit = 0.3
    """The share of the keyword part; both are scaled to a sum of 1."""
    candidate_multiplier: Annotated[int, clamp(1, 20)] = 4
    """How many candidates are looked at for each result at least, 1 to 20."""
    mmr: Mmr = Mmr()
    """Whether and how likeness counts."""
    temporal_decay: TemporalDecay = TemporalDecay()
    """Whether and how age counts."""

    @model_validator(mode="after")
    def _normalise_weights(self) -> Self:
        total = self.vector_weight + self.text_weight
        vector, text = (self.vector_weight / total, self.text_weight / total) if total > 0 else (0.7, 0.3)
        object.__setattr__(self, "vector_weight", vector)
        object.__setattr__(self, "text_weight", text)
        return self


class SearchQuery(Strict):
    """What a search returns when the caller does not say."""

    max_results: Results = 6
    """Accepted for OpenClaw's sake; `memory.qmd.limits.maxResults` holds."""
    min_score: Unit = 0.35
    """The least relevance of a result, 0 to 1; a caller may say another one."""
    hybrid: Hybrid = Hybrid()
    """Keywords and vectors."""


class Cache(Strict):
    """Embeddings of text that was seen before."""

    enabled: bool = True
    """Whether they are kept."""
    max_entries: Annotated[int, clamp(1, 2**31 - 1)] = 50_000
    """How many; the oldest go first."""


class Experimental(Strict):
    """OpenClaw's switch in front of session search."""

    session_memory: bool = False
    """Must be on for `sources: ["sessions"]` to count."""


class MemorySearch(Strict):
    """Everything under `memorySearch`, the same for both engines."""

    enabled: bool = True
    """Whether the agent's memory may be searched and read."""
    sources: tuple[Literal["memory", "sessions"], ...] = ("memory",)
    """What is searched; `sessions` counts with `experimental.sessionMemory` alone."""
    provider: Annotated[str, Field(min_length=1)] = "auto"
    """Who makes the vectors of the built-in index."""
    model: str | None = None
    """The provider's model; without it the provider's default."""
    fallback: Annotated[str, Field(min_length=1)] = "none"
    """The provider that stands in when the first one fails, or `none`."""
    remote: Remote = Remote()
    """Reaching a hosted provider."""
    local: Local = Local()
    """The model of `provider: "local"`."""
    output_dimensionality: Positive | None = None
    """The length of vectors, where the model leaves a choice."""
    query_input_type: str | None = None
    """The input type for questions, where the provider takes one."""
    document_input_type: str | None = None
    """The input type for notes, where the provider takes one."""
    multimodal: Multimodal = Multimodal()
    """Images and recordings."""
    extra_paths: tuple[ExtraPath, ...] = ()
    """Further folders and files; an agent has those of the defaults and its own. A bare text is a path."""
    store: Store = Store()
    """Where the built-in index lies."""
    chunking: Chunking = Chunking()
    """How notes are cut for embedding."""
    sync: Sync = Sync()
    """What brings the index up to date."""
    query: SearchQuery = SearchQuery()
    """What a search finds and how it is ordered."""
    cache: Cache = Cache()
    """Vectors of texts that were seen before."""
    experimental: Experimental = Experimental()
    """OpenClaw's switches."""

    @property
    def sessions_wanted(self) -> bool:
        """Whether this section turns session search on."""
        return "sessions" in self.sources and self.experimental.session_memory
