"""What every engine is asked, what it answers, and how it fails.

Data flows one way: a `Query` goes in, an `Answer` of `Hit`s comes out, or a `BackendError` that
says which kind of failure it was. All values are frozen; none knows the gateway.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any, Protocol

from backends.corpus import Kind


class Mode(StrEnum):
    """How to search. On the built-in engine `search` and `query` both run the keyword and the vector leg."""

    SEARCH = "search"
    VSEARCH = "vsearch"
    QUERY = "query"


class Source(StrEnum):
    """The two collections that a caller can name with `corpus`."""

    MEMORY = "memory"
    SESSIONS = "sessions"

    @classmethod
    def of(cls, kind: Kind) -> Source:
        """The collection that what a root holds belongs to."""
        return cls.SESSIONS if kind is Kind.SESSION else cls.MEMORY


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One search.

    `deadline_at` is in seconds of `time.monotonic()`; `max_chars` bounds a snippet in code points;
    `after` and `before` are inclusive dates; `min_score` is a relevance in 0..1; `today` is the user's day, from which
    "last week" and the age of a note count. `sessions` are the conversations that may be seen, by their paths in the
    root that holds them; None for all.
    """

    text: str
    max_results: int
    min_score: float
    max_chars: int
    deadline_at: float
    mode: Mode = Mode.SEARCH
    sources: frozenset[Source] = frozenset(Source)
    sessions: frozenset[str] | None = None
    after: date | None = None
    before: date | None = None
    today: date | None = None
    explain: bool = False

    def shows(self, kind: Kind, relative: str) -> bool:
        """Whether the query may see a file, as far as it is a conversation."""
        return kind is not Kind.SESSION or self.sessions is None or relative in self.sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One passage that answers: whole lines of one file, read back from it.

    `path` is the shown path (`Corpus.shown`); lines are 1-based and inclusive; scores are relevances in 0..1;
    `partial` marks a window cut out of a single line that is longer than the snippet limit, and `column` is the code
    point of that line, from 1, at which it begins. `newer` names the line
    (`path#L<n>`) of a hit before this one that says something newer about the same fact. `media` is the media type of
    an image or a recording: the hit is the whole file, its snippet names it, and its lines are 1 to 1.
    """

    root: str
    relative: str
    path: str
    kind: Kind
    trusted: bool
    start_line: int
    end_line: int
    snippet: str
    score: float
    text_score: float | None = None
    vector_score: float | None = None
    partial: bool = False
    column: int | None = None
    newer: str | None = None
    media: str | None = None
    explain: Mapping[str, Any] | None = None

    @property
    def source(self) -> Source:
        """The collection this hit belongs to."""
        return Source.of(self.kind)


@dataclass(frozen=True, slots=True)
class Notice:
    """Something degraded that the caller should know: a stable code, a sentence, and what to do about it."""

    code: str
    message: str
    action: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """Why another engine (or embedding provider) than the first choice answered. `since` is Unix time in seconds."""

    origin: str
    reason: str
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """Files on disk that the index does not hold yet."""

    files: int
    oldest_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one engine found.

    `engine` is `qmd` or `builtin`; `via` the way it took (`resident`, `command`, `index`); `mode` the mode
    that ran; `partial` says that a leg missed the deadline, so that an empty answer is not read as "nothing there".
    `below_min_score` explains an empty answer: files that were looked at and hold nothing relevant enough.
    """

    hits: tuple[Hit, ...]
    engine: str
    via: str
    mode: Mode
    provider: str | None = None
    model: str | None = None
    partial: bool = False
    fallback: Fallback | None = None
    embedding_fallback: Fallback | None = None
    pending: Pending | None = None
    below_min_score: int = 0
    notices: tuple[Notice, ...] = ()
    explain: Mapping[str, Any] | None = None


class Failure(StrEnum):
    """Every way in which an engine can fail a call."""

    MISSING = "missing"
    BROKEN_INSTALL = "broken_install"
    TIMEOUT = "timeout"
    EXITED = "exited"
    BAD_OUTPUT = "bad_output"
    LOCKED = "locked"
    MODEL_MISSING = "model_missing"
    INDEX_LOST = "index_lost"
    DISK_FULL = "disk_full"
    UNSUPPORTED_FLAGS = "unsupported_flags"
    EMBEDDING = "embedding"


class BackendError(Exception):
    """An engine could not answer. `message` and `hint` never hold query or memory text.

    `code` tells apart what `failure` does not, where there is more to tell; else it is the failure's own.
    """

    def __init__(self, failure: Failure, message: str, *, hint: str = "", code: str = "") -> None:
        super().__init__(message)
        self.failure = failure
        self.code = code or str(failure)
        self.message = message
        self.hint = hint

    def to_keep(self) -> BackendError:
        """The same without its traceback, which holds every frame that it passed, and whatever these hold."""
        return BackendError(self.failure, self.message, hint=self.hint, code=self.code)


def disk_full() -> BackendError:
    """What to say when there is no room to write: what is indexed stays, and is found."""
    return BackendError(Failure.DISK_FULL, "The disk is full.", hint="Free space; the next sync goes on.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """Bring an index up to date. `force` rebuilds what can be rebuilt; `embed` also computes missing vectors.

    `purge` leaves nothing behind of what is gone: no cached vector, no free page, no set-aside copy, no log.
    """

    reason: str
    force: bool = False
    embed: bool = True
    purge: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What a sync did. `ran` is false when there was nothing to do or another writer had the turn (see `detail`).

    `embedding_failure` is the code of why the embedding provider gave no vectors, empty when it did or was not asked.
    `cached` of the `embedded` vectors were known from before.
    """

    engine: str
    ran: bool
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    embedded: int = 0
    cached: int = 0
    skipped: Mapping[str, str] = field(default_factory=dict)
    embedding_failure: str = ""
    detail: str = ""
    took_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendStatus:
    """A snapshot for operators, cheap enough to take at any moment. `detail` holds JSON-ready facts of the engine."""

    backend: str
    ready: bool
    documents: int | None = None
    pending: Pending | None = None
    fallback: Fallback | None = None
    notices: tuple[Notice, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)


class Backend(Protocol):
    """One engine over one agent's corpus."""

    @property
    def name(self) -> str:
        """`qmd`, `builtin` or `failover`."""
        ...

    async def search(self, query: Query) -> Answer:
        """Answer before `query.deadline_at`, or raise `BackendError`."""
        ...

    async def sync(self, request: SyncRequest) -> SyncReport:
        """Bring the index up to date with the files. Raises `BackendError`."""
        ...

    def status(self) -> BackendStatus:
        """Say what is known now, without waiting for anything."""
        ...

    async def close(self) -> None:
        """End every child and close every file. Safe to call twice."""
        ...
