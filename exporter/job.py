"""What an export is asked to do, and what it has to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

MAX_LISTED: Final = 200
"""A report names so many changes, and so many failures; the counts count them all."""
MAX_DIFF_CHARS: Final = 200_000
# A few short sessions without a word are life; when most of many have none, the transcripts are not understood.
_MANY_TRANSCRIPTS: Final = 20
_EMPTY_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportJob:
    """What to export, in values that are JSON as they stand: `ExportJob(**orjson.loads(...))` gives it back.

    `transcripts`, `export_folder` and `ledger` (a SQLite file) are absolute paths. A transcript older than
    `retention_days` has no export; 0 keeps all. `zone` (IANA) decides which day a turn belongs to. With `dry_run`
    nothing is written, deleted or remembered; with `diff` the report holds what changes in the exports. Transcripts
    that were last written before `since_s` (Unix) are passed over, and keep their exports. `may_be_missing` says that
    no folder of transcripts is needed as long as none was ever seen: nobody has spoken yet.
    """

    transcripts: str
    export_folder: str
    ledger: str
    retention_days: int = 90
    redact_patterns: Sequence[str] = ()
    redact_allow: Sequence[str] = ()
    zone: str = "UTC"
    dry_run: bool = False
    diff: bool = False
    since_s: int = 0
    may_be_missing: bool = False

    def __post_init__(self) -> None:
        # JSON has lists only; a job is the same job before and after it.
        object.__setattr__(self, "redact_patterns", tuple(self.redact_patterns))
        object.__setattr__(self, "redact_allow", tuple(self.redact_allow))


@dataclass(frozen=True, slots=True)
class Failure:
    """A transcript, or all of them (`name` empty), that was not exported: a code and the system's reason."""

    name: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Change:
    """An export that was written or removed: of transcript `name`, with `turns` new turns and `redacted` secrets."""

    name: str
    action: Literal["write", "remove"]
    turns: int = 0
    redacted: int = 0


@dataclass(slots=True, kw_only=True)
class ExportReport:
    """Counts of one run; text only in `diff`, and only text that is redacted.

    `redacted` counts secrets by kind. `empty` are transcripts without a turn, also those that were not read this
    time; `mostly_empty` says that they are suspiciously many. `left_out` are those of cron runs, heartbeats and
    sub-agents, `forgotten` those of deleted and purged sessions that are there (again), `expired` those
    beyond retention, `passed_over` those that were last written too long ago to be asked
    for. `turns`, `bad_lines` and `read_bytes` are of what was read this time. `diff_cut` says that `diff` is not all.
    """

    written: int = 0
    unchanged: int = 0
    empty: int = 0
    mostly_empty: bool = False
    removed: int = 0
    expired: int = 0
    left_out: int = 0
    forgotten: int = 0
    passed_over: int = 0
    turns: int = 0
    bad_lines: int = 0
    read_bytes: int = 0
    failed: int = 0
    redacted: dict[str, int] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    diff: str = ""
    diff_cut: bool = False

    @property
    def changed(self) -> bool:
        """Whether the export folder is other than before, so that an index has something to do."""
        return bool(self.written or self.removed)

    def has_changed(self, change: Change) -> None:
        """Count an export that was written or removed."""
        if change.action == "write":
            self.written += 1
        else:
            self.removed += 1
        if len(self.changes) < MAX_LISTED:
            self.changes.append(change)

    def has_redacted(self, found: Mapping[str, int]) -> None:
        """Count secrets by kind."""
        for kind, number in found.items():
            self.redacted[kind] = self.redacted.get(kind, 0) + number

    def has_failed(self, failure: Failure) -> None:
        """Count a transcript that was not exported."""
        self.failed += 1
        if len(self.failures) < MAX_LISTED:
            self.failures.append(failure)

    def has_looked_at(self, transcripts: int) -> None:
        """Judge the whole, at the end."""
        self.mostly_empty = transcripts >= _MANY_TRANSCRIPTS and self.empty > transcripts * _EMPTY_SHARE

    def show(self, text: str) -> None:
        """Add to the diff what fits."""
        room = MAX_DIFF_CHARS - len(self.diff)
        self.diff += text[:room]
        self.diff_cut = self.diff_cut or len(text) > room
