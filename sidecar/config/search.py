"""`memorySearch`: what is indexed for an agent, how it is embedded, and how results are ranked."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, model_validator

from sidecar.config.values import Bytes, NotNegative, PathText, Pattern, Positive, Results, Strict, Unit, clamp


class Batch(Strict):
    """Embedding through a provider's batch interface."""

    enabled: bool = False
    wait: bool = True
    concurrency: Annotated[int, clamp(1, 64)] = 2
    poll_interval_ms: Positive = 2000
    timeout_minutes: Annotated[int, clamp(1, 7 * 24 * 60)] = 60


class Remote(Strict):
    """Where and how a hosted provider is reached. Secret values print as stars."""

    base_url: str | None = None
    api_key: SecretStr | None = None
    headers: dict[str, SecretStr | None] = Field(default_factory=dict)
    batch: Batch = Batch()


class Local(Strict):
    """A GGUF model on this machine: a file or an `hf:` address."""

    model_path: PathText | None = None
    model_cache_dir: PathText | None = None


class Multimodal(Strict):
    """Images and audio below `extraPaths`."""

    enabled: bool = False
    modalities: tuple[Literal["image", "audio", "all"], ...] = ("image", "audio")
    max_file_bytes: Bytes = 10_000_000

    @property
    def kinds(self) -> frozenset[str]:
        """The modalities that are on: `image`, `audio`, both or none."""
        if not self.enabled:
            return frozenset()
        return frozenset({"image", "audio"}) if "all" in self.modalities else frozenset(self.modalities)


class ExtraPath(Strict):
    """One more folder or file to index. A bare text is a path. `trusted` as in `memory.qmd.paths`."""

    path: PathText
    pattern: Pattern = "**/*.md"
    trusted: bool = True

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else value


class Vector(Strict):
    """The sqlite-vec extension; without it the vectors are compared in numpy."""

    enabled: bool = True
    extension_path: PathText | None = None


class Store(Strict):
    """The built-in index file; a relative path starts at `<stateDir>/memory`, `{agentId}` is replaced."""

    driver: Literal["sqlite"] = "sqlite"
    path: PathText = "{agentId}.sqlite"
    vector: Vector = Vector()


class Chunking(Strict):
    """The unit of embedding, in tokens. `overlap` is at most `tokens - 1`."""

    tokens: Annotated[int, clamp(1, 100_000)] = 400
    overlap: Annotated[int, clamp(0, 100_000)] = 80

    @model_validator(mode="after")
    def _overlap_below_tokens(self) -> Self:
        # The model is frozen for its users; this is still its construction.
        object.__setattr__(self, "overlap", min(self.overlap, self.tokens - 1))
        return self


class SessionSync(Strict):
    """How much a transcript must grow before it is indexed again; either is enough."""

    delta_bytes: NotNegative = 100_000
    delta_messages: NotNegative = 50


class Sync(Strict):
    """When the index follows the files."""

    on_session_start: bool = True
    on_search: bool = True
    watch: bool = True
    watch_debounce_ms: NotNegative = 1500
    interval_minutes: NotNegative = 0
    sessions: SessionSync = SessionSync()


class Mmr(Strict):
    """Diversity among the results: 1.0 is relevance alone."""

    enabled: bool = False
    lambda_: Unit = Field(default=0.7, alias="lambda")


class TemporalDecay(Strict):
    """Old daily notes count less."""

    enabled: bool = False
    half_life_days: Annotated[float, clamp(1, 36_500)] = 30.0


class Hybrid(Strict):
    """How keywords and vectors are combined. The weights add up to 1."""

    enabled: bool = True
    vector_weight: Unit = 0.7
    text_weight: Unit = 0.3
    candidate_multiplier: Annotated[int, clamp(1, 20)] = 4
    mmr: Mmr = Mmr()
    temporal_decay: TemporalDecay = TemporalDecay()

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
    min_score: Unit = 0.35
    hybrid: Hybrid = Hybrid()


class Cache(Strict):
    """Embeddings of text that was seen before."""

    enabled: bool = True
    max_entries: Annotated[int, clamp(1, 2**31 - 1)] = 50_000


class Experimental(Strict):
    """OpenClaw's switch in front of session search."""

    session_memory: bool = False


class MemorySearch(Strict):
    """Everything under `memorySearch`, the same for both engines."""

    enabled: bool = True
    sources: tuple[Literal["memory", "sessions"], ...] = ("memory",)
    provider: Annotated[str, Field(min_length=1)] = "auto"
    model: str | None = None
    fallback: Annotated[str, Field(min_length=1)] = "none"
    remote: Remote = Remote()
    local: Local = Local()
    output_dimensionality: Positive | None = None
    query_input_type: str | None = None
    document_input_type: str | None = None
    multimodal: Multimodal = Multimodal()
    extra_paths: tuple[ExtraPath, ...] = ()
    store: Store = Store()
    chunking: Chunking = Chunking()
    sync: Sync = Sync()
    query: SearchQuery = SearchQuery()
    cache: Cache = Cache()
    experimental: Experimental = Experimental()

    @property
    def sessions_wanted(self) -> bool:
        """Whether this section turns session search on."""
        return "sessions" in self.sources and self.experimental.session_memory
