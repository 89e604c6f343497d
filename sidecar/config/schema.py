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
    """A folder or a file that is indexed beside the default memory.

    `trusted` false: others write there (cloned repositories, web clips), so what it says is data and no instruction.
    """

    path: PathText
    pattern: Pattern = "**/*.md"
    name: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    trusted: bool = True


class Sessions(Strict):
    """Exported conversations. `retention_days` 0 keeps them for ever."""

    enabled: bool = False
    retention_days: NotNegative = 90
    export_dir: PathText | None = None


class Update(Strict):
    """When qmd follows the files, and how long each of its commands may take. An interval of 0 is off."""

    interval_s: Duration = Field(default=300.0, alias="interval")
    debounce_ms: NotNegative = 15_000
    on_boot: bool = True
    wait_for_boot_sync: bool = False
    embed_interval_s: Duration = Field(default=3600.0, alias="embedInterval")
    command_timeout_ms: Milliseconds = 10_000
    update_timeout_ms: Milliseconds = 120_000
    embed_timeout_ms: Milliseconds = 600_000


class Limits(Strict):
    """How much text leaves, and how long a search may take; they hold whichever engine answers."""

    max_results: Results = 6
    max_snippet_chars: Positive = 700
    max_injected_chars: Positive = 10_000
    timeout_ms: Milliseconds = 4000


class Resident(Strict):
    """Warm `qmd mcp` children."""

    enabled: bool = True
    idle_minutes: Positive = 15
    max: Positive = 4
    max_rss_mb: Positive = 1024


ChatType = Annotated[Literal["direct", "dm", "group", "channel"], Lower]
SessionKind = Annotated[scope.Kind, Lower]


class Match(Strict):
    """The conditions of a scope rule; all must hold. Without any the rule matches everything."""

    channel: Word | None = None
    chat_type: ChatType | None = None
    key_prefix: Word | None = None
    raw_key_prefix: Word | None = None
    kind: SessionKind | None = None


class ScopeRule(Strict):
    """Allow or deny what matches."""

    action: Literal["allow", "deny"]
    match: Match = Match()


class Scope(Strict):
    """Who may read. Written without a `default`, everything that no rule allows is denied."""

    default: Literal["allow", "deny"] = "deny"
    rules: tuple[ScopeRule, ...] = ()

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
    """Everything under `memory.qmd`."""

    command: Annotated[PathText, AfterValidator(_without_arguments)] = "qmd"
    search_mode: Mode = Mode.SEARCH
    rerank: Literal["auto", True, False] = "auto"
    include_default_memory: bool = True
    paths: tuple[QmdPath, ...] = ()
    sessions: Sessions = Sessions()
    update: Update = Update()
    limits: Limits = Limits()
    resident: Resident = Resident()
    scope: Scope = DIRECT_ONLY


class Memory(Strict):
    """Everything under `memory` but `memory.search`, which is the newer spelling of `memorySearch`."""

    backend: Annotated[Literal["auto", "qmd", "builtin"], SqliteIsBuiltin] = "auto"
    citations: Literal["auto", "on", "off"] = "auto"
    fallback: Annotated[Literal["builtin", "none"], SqliteIsBuiltin] = "builtin"
    merge: bool = False
    qmd: Qmd = Qmd()


class MemoryFlush(Strict):
    """The reminder before a compaction. The texts are the mission's."""

    enabled: bool = True
    soft_threshold_tokens: NotNegative = 4000
    force_flush_transcript_bytes: Bytes = 2_097_152
    system_prompt: str = "Session nearing compaction. Store durable memories now."
    prompt: str = "Write any lasting notes to memory/YYYY-MM-DD.md; reply with NO_REPLY if nothing to store."


class Compaction(Lenient):
    """What we read of `agents.defaults.compaction`."""

    reserve_tokens_floor: NotNegative = 20_000
    memory_flush: MemoryFlush = MemoryFlush()


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
    """Where clients call, and who may. `mode` holds octal digits as text."""

    path: PathText | None = None
    mode_text: Annotated[str, AfterValidator(lambda text: f"{_mode(text):04o}")] = Field(default="0600", alias="mode")
    group: Annotated[str, Field(min_length=1)] | None = None
    allow_uids: tuple[NotNegative, ...] = ()

    @property
    def mode(self) -> int:
        """The permission bits of the socket."""
        return int(self.mode_text, 8)


class Log(Strict):
    """`queries` allows query texts in the log file; off by default."""

    level: Annotated[Literal["debug", "info", "warning", "error"], Lower] = "info"
    file: PathText | None = None
    queries: bool = False


class Metrics(Strict):
    """`listen` is `host:port` for a scraper that cannot use the socket."""

    listen: Annotated[str, Field(pattern=r"^(\[[0-9a-fA-F:]+\]|[^\s:/]+):\d{1,5}$")] | None = None


class Redact(Strict):
    """Further secrets to remove from exported sessions, and texts that are none (RE2 patterns)."""

    patterns: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()


class Sidecar(Strict):
    """Everything under `sidecar`: the daemon itself."""

    state_dir: PathText | None = None
    transcripts: PathText | None = None
    socket: Socket = Socket()
    log: Log = Log()
    metrics: Metrics = Metrics()
    redact: Redact = Redact()
    workers: Annotated[int, Field(ge=1, le=32)] = 1


class Provider(Lenient):
    """What we read of `models.providers.<id>`."""

    api_key: SecretStr | None = None
    base_url: str | None = None
    api: str | None = None
    headers: dict[str, SecretStr | None] = Field(default_factory=dict)


class Session(Lenient):
    """What we read of `session`: where the session store lies."""

    store: PathText | None = None


Visibility = Literal["self", "tree", "agent", "all"]


class SessionTools(Lenient):
    """What we read of `tools.sessions`."""

    visibility: Visibility = "tree"
