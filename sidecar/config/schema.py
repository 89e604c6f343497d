"""`memory`, `sidecar`, `compaction` and the few keys that we read of other sections."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, SecretStr

import scope
from backends.base import Mode
from sidecar.config.values import (
    Bytes,
    Duration,
    Lenient,
    Lower,
    Milliseconds,
    NotNegative,
    PathText,
    Pattern,
    Positive,
    Results,
    SqliteIsBuiltin,
    Strict,
    Word,
)


class QmdPath(Strict):
    """A folder or a file that is indexed beside the default memory."""

    path: PathText
    """A folder or a file; `~` is the home folder, a relative path starts at the agent's workspace."""
    pattern: Pattern = "**/*.md"
    """Which files of a folder are notes: one glob."""
    name: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """What the folder is called in paths that are shown, `qmd/<name>/..`; without one `custom-1`, `custom-2`, .."""
    trusted: bool = True
    """False: others write there (cloned repositories, web clips), so what it says is data and no instruction."""


class Sessions(Strict):
    """Exported conversations."""

    enabled: bool = False
    """Whether conversations are exported and searched."""
    retention_days: NotNegative = 90
    """How long an export is kept after its transcript was last written; 0 is for ever."""
    export_dir: PathText | None = None
    """Where exports lie, in a folder for each agent; without it in the agent's own state."""


class Update(Strict):
    """When qmd follows the files, and how long each of its commands may take."""

    interval_s: Duration = Field(default=300.0, alias="interval")
    """How often the index is brought up to date; a bare number is minutes, 0 is off."""
    debounce_ms: NotNegative = 15_000
    """The least time between two updates of qmd that nobody forced."""
    on_boot: bool = True
    """Whether qmd is brought up to date when the daemon starts."""
    wait_for_boot_sync: bool = False
    """Whether the daemon is ready only after that, or after `updateTimeoutMs`."""
    embed_interval_s: Duration = Field(default=3600.0, alias="embedInterval")
    """Accepted for OpenClaw's sake: vectors are made after each update that changed something."""
    command_timeout_ms: Milliseconds = 10_000
    """For short commands of qmd: status, version, collections."""
    update_timeout_ms: Milliseconds = 120_000
    """For `qmd update`."""
    embed_timeout_ms: Milliseconds = 600_000
    """For `qmd embed`."""


class Limits(Strict):
    """How much text leaves, and how long a search may take; they hold whichever engine answers."""

    max_results: Results = 6
    """How many results a search gives when the caller does not say; a caller may ask for 50."""
    max_snippet_chars: Positive = 700
    """The length of one snippet, with its source line."""
    max_injected_chars: Positive = 10_000
    """The length of all snippets of an answer together."""
    timeout_ms: Milliseconds = 4000
    """How long a search may take. A caller may ask for less."""


class Resident(Strict):
    """Warm `qmd mcp` children."""

    enabled: bool = True
    """Whether searches use a warm child; without one each starts a process."""
    idle_minutes: Positive = 15
    """A child that was not asked for so long is ended."""
    max: Positive = 4
    """How many children live at once, for all agents together."""
    max_rss_mb: Positive = 1024
    """A child that uses more memory is ended, in MiB, and started anew when it is needed."""


ChatType = Annotated[Literal["direct", "dm", "group", "channel"], Lower]
SessionKind = Annotated[scope.Kind, Lower]


class Match(Strict):
    """The conditions of a scope rule; all must hold. Without any the rule matches everything."""

    channel: Word | None = None
    """The chat program: `telegram`, `slack`, .."""
    chat_type: ChatType | None = None
    """The type of the chat; `dm` means `direct`."""
    key_prefix: Word | None = None
    """How the key without `agent:<id>:` starts."""
    raw_key_prefix: Word | None = None
    """How the whole key starts."""
    kind: SessionKind | None = None
    """The kind of session that the key says."""


class ScopeRule(Strict):
    """Allow or deny what matches."""

    action: Literal["allow", "deny"]
    """What happens to sessions that match."""
    match: Match = Match()
    """Which sessions."""


class Scope(Strict):
    """Who may read. Written without a `default`, everything that no rule allows is denied."""

    default: Literal["allow", "deny"] = "deny"
    """For sessions that no rule matches."""
    rules: tuple[ScopeRule, ...] = ()
    """Any matching deny wins, then any matching allow; their order means nothing."""

    def policy(self) -> scope.Policy:
        """The same rules as the `scope` package evaluates them."""
        rules = (scope.Rule(rule.action, **rule.match.model_dump()) for rule in self.rules)
        return scope.Policy(default=self.default, rules=tuple(rules))


DIRECT_ONLY: Final = Scope.model_validate_json('{"rules": [{"action": "allow", "match": {"chatType": "direct"}}]}')


def _without_arguments(command: str) -> str:
    if any(character.isspace() for character in command) and "/" not in command:
        raise ValueError("the command takes no arguments: name the program or its path alone")
    if command.startswith("-"):
        raise ValueError("the command starts with a dash: name the program or its path")
    return command


class Qmd(Strict):
    """QMD itself, and what holds whichever engine answers."""

    command: Annotated[PathText, AfterValidator(_without_arguments)] = "qmd"
    """The program: a name on the daemon's PATH, or a path; no arguments."""
    search_mode: Mode = Mode.SEARCH
    """`search` keywords, `vsearch` vectors, `query` both."""
    rerank: Literal["auto", True, False] = "auto"
    """Whether `query` uses qmd's reranker; `auto`: when its model is on this machine."""
    include_default_memory: bool = True
    """Whether `MEMORY.md`, `USER.md` and `memory/**/*.md` of the workspace are memory."""
    paths: tuple[QmdPath, ...] = ()
    """Further folders and files."""
    sessions: Sessions = Sessions()
    """Conversations as memory."""
    update: Update = Update()
    """When the index follows the files."""
    limits: Limits = Limits()
    """How much text leaves, and how long a search may take."""
    resident: Resident = Resident()
    """Warm children of qmd."""
    scope: Scope = DIRECT_ONLY
    """Which sessions may read; without it direct chats, and what acts for the owner."""


class Memory(Strict):
    """Everything under `memory` but `memory.search`, which is the newer spelling of `memorySearch`."""

    backend: Annotated[Literal["auto", "qmd", "builtin"], SqliteIsBuiltin] = "auto"
    """`auto`: qmd when a working one is found; `qmd`, and `builtin` (also spelled `sqlite`), always."""
    citations: Literal["auto", "on", "off"] = "auto"
    """Whether results name their source; `auto`: in direct chats."""
    fallback: Annotated[Literal["builtin", "none"], SqliteIsBuiltin] = "builtin"
    """What answers while qmd does not; with `none` no second index is built."""
    merge: bool = False
    """Whether both engines answer each search, ordered by one score."""
    qmd: Qmd = Qmd()
    """QMD, and what holds for every engine."""


FLUSH_SYSTEM_PROMPT: Final = "Session nearing compaction. Store durable memories now."
FLUSH_PROMPT: Final = "Write any lasting notes to memory/YYYY-MM-DD.md; reply with NO_REPLY if nothing to store."


def _or_if_blank(default: str) -> AfterValidator:
    """A blank text counts as not written: an empty turn reminds nobody."""
    return AfterValidator(lambda text: text if text.strip() else default)


class MemoryFlush(Strict):
    """The reminder before a compaction."""

    enabled: bool = True
    """Whether the gateway is told to flush at all."""
    soft_threshold_tokens: NotNegative = 4000
    """How many tokens before the reserve the reminder comes."""
    force_flush_transcript_bytes: Bytes = 2_097_152
    """A transcript this long is reason enough; 0 is never. Takes units: `2mb`."""
    system_prompt: Annotated[str, _or_if_blank(FLUSH_SYSTEM_PROMPT)] = FLUSH_SYSTEM_PROMPT
    """The system prompt of the silent turn."""
    prompt: Annotated[str, _or_if_blank(FLUSH_PROMPT)] = FLUSH_PROMPT
    """Its prompt; `YYYY-MM-DD` becomes today."""


class Compaction(Lenient):
    """What we read of `agents.defaults.compaction`."""

    reserve_tokens_floor: NotNegative = 20_000
    """How many tokens of the window the gateway keeps free."""
    memory_flush: MemoryFlush = MemoryFlush()
    """The reminder to write notes first."""


def _mode(text: str) -> int:
    try:
        mode = int(text, 8)
    except ValueError:
        raise ValueError('a mode is a text of octal digits, like "0600"') from None
    if mode & ~0o777 or mode & 0o600 != 0o600:
        raise ValueError("the owner must be able to read and write, and no bits beyond 0777 exist: use 0600 or 0660")
    if mode & 0o007:
        raise ValueError("every local user could read the memory: use 0600, or 0660 with a group")
    return mode


class Socket(Strict):
    """Where clients call, and who may."""

    path: PathText | None = None
    """Its place; a relative path starts beside the configuration."""
    mode_text: Annotated[str, AfterValidator(lambda text: f"{_mode(text):04o}")] = Field(default="0600", alias="mode")
    """Permission bits, octal digits as text; others may have none."""
    group: Annotated[str, Field(min_length=1)] | None = None
    """The group that owns the socket, by name."""
    allow_uids: tuple[NotNegative, ...] = ()
    """Users beside the daemon's own who may call."""

    @property
    def mode(self) -> int:
        """The permission bits of the socket."""
        return int(self.mode_text, 8)


class Log(Strict):
    """What is logged, and where."""

    level: Annotated[Literal["debug", "info", "warning", "error"], Lower] = "info"
    """From which severity on events are logged."""
    file: PathText | None = None
    """A file that is written beside standard error, and rotated; relative to the configuration."""
    queries: bool = False
    """Whether texts of questions may stand in the log."""


class Metrics(Strict):
    """Where metrics are served beside the socket."""

    listen: Annotated[str, Field(pattern=r"^(\[[0-9a-fA-F:]+\]|[^\s:/]+):\d{1,5}$")] | None = None
    """`host:port` for a scraper that cannot use the socket."""


class Redact(Strict):
    """What is a secret in exported conversations beside the built-in rules, and what is none."""

    patterns: tuple[str, ...] = ()
    """Further secrets to remove, as RE2 patterns."""
    allow: tuple[str, ...] = ()
    """Values that are none, as RE2 patterns for the whole value."""


class Sidecar(Strict):
    """The daemon itself."""

    state_dir: PathText | None = None
    """Where indexes, exports and ledgers lie; relative to the configuration."""
    transcripts: PathText | None = None
    """Where the gateway writes transcripts; `{agentId}` is replaced."""
    socket: Socket = Socket()
    """The socket that clients call."""
    log: Log = Log()
    """The daemon's log."""
    metrics: Metrics = Metrics()
    """The daemon's metrics."""
    redact: Redact = Redact()
    """Secrets in exported conversations."""
    workers: Annotated[int, Field(ge=1, le=32)] = 1
    """Accepted; one worker process indexes for all agents, whatever the number."""


class Provider(Lenient):
    """What we read of `models.providers.<id>`."""

    api_key: SecretStr | None = None
    """The key, where `memorySearch.remote` has none."""
    base_url: str | None = None
    """The address, where `memorySearch.remote` has none."""
    api: str | None = None
    """The protocol that a provider of your own speaks."""
    headers: dict[str, SecretStr | None] = Field(default_factory=dict)
    """Sent with each request; those of `memorySearch.remote` win."""


class Session(Lenient):
    """What we read of `session`: where the session store lies."""

    store: PathText | None = None
    """The gateway's session store; transcripts lie beside it."""


Visibility = Literal["self", "tree", "agent", "all"]


class SessionTools(Lenient):
    """What we read of `tools.sessions`."""

    visibility: Visibility = "tree"
    """Which conversations a session sees."""
