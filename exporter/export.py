"""Bring an export folder up to date with a folder of transcripts. Synchronous: it runs in the worker process.

Each transcript is one step: read, sanitize, redact, write, record. A kill between two of them loses nothing and
repeats at most one step. What was not read this time keeps its old export.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from exporter.folder import ExportFolder, ForeignFileError
from exporter.ledger import Entry, Ledger
from exporter.markdown import Rendering
from exporter.redact import Redactor
from exporter.sanitize import collapse, sanitize
from exporter.session_store import SessionStore, StoreUnreadableError
from exporter.transcript import Message, Transcript, TranscriptFile, find_transcripts, open_transcript

_DAY_NS: Final = 86_400 * 10**9
# Raised when reading, sanitizing or rendering changes, so that old exports are made anew.
_FORMAT: Final = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportJob:
    """What to export, in values that are JSON as they stand: `ExportJob(**orjson.loads(...))` gives it back.

    `transcripts`, `export_folder` and `ledger` (a SQLite file) are absolute paths. A transcript older than
    `retention_days` has no export; 0 keeps all. `zone` (IANA) decides which day a turn belongs to.
    """

    transcripts: str
    export_folder: str
    ledger: str
    retention_days: int = 90
    redact_patterns: Sequence[str] = ()
    redact_allow: Sequence[str] = ()
    zone: str = "UTC"

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


@dataclass(slots=True, kw_only=True)
class ExportReport:
    """Counts of one run, never text.

    `redacted` counts secrets by kind; `empty` are transcripts without a turn, `left_out` those of cron runs,
    heartbeats and sub-agents, `expired` those beyond retention.
    """

    written: int = 0
    unchanged: int = 0
    empty: int = 0
    removed: int = 0
    expired: int = 0
    left_out: int = 0
    turns: int = 0
    bad_lines: int = 0
    redacted: Mapping[str, int] = field(default_factory=dict)
    failures: Sequence[Failure] = ()

    @property
    def changed(self) -> bool:
        """Whether the export folder is other than before, so that an index has something to do."""
        return bool(self.written or self.removed)


def export_sessions(job: ExportJob) -> ExportReport:
    """Run one export. Failures of single files are in the report; the old exports of those files stay.

    Raises BadPatternError for a pattern, ZoneInfoNotFoundError or ValueError for the zone, OSError for an export
    folder that cannot be used and apsw.Error for the ledger.
    """
    redactor = Redactor(job.redact_patterns, job.redact_allow)
    try:
        files = find_transcripts(Path(job.transcripts))
        store = SessionStore(Path(job.transcripts))
    except StoreUnreadableError as error:
        return ExportReport(failures=[Failure("", "session_store_unreadable", str(error))])
    except OSError as error:
        # Missing or unreadable is no proof that the sessions were deleted.
        return ExportReport(failures=[Failure("", "transcripts_unreadable", _reason(error))])
    with ExportFolder(Path(job.export_folder)) as folder, Ledger(Path(job.ledger), job.export_folder) as ledger:
        return _Run(job, redactor, folder, ledger, store).over(files)


def export_name(transcript: str) -> str:
    """The export's file name; no two transcripts share one."""
    return f"{transcript.removesuffix('.jsonl')}.md"


def transcript_line(ledger: Path, export_folder: str, name: str, line: int) -> int | None:
    """The 1-based line of transcript `name` that line `line` of its export came from; None for lines that are ours."""
    with Ledger(ledger, export_folder) as book:
        lines = book.line_map(name)
    return (lines[line - 1] or None) if 0 < line <= len(lines) else None


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


class _Run:
    """One run over one folder."""

    def __init__(
        self, job: ExportJob, redactor: Redactor, folder: ExportFolder, ledger: Ledger, store: SessionStore
    ) -> None:
        self._source = Path(job.transcripts)
        self._oldest_ns = time.time_ns() - job.retention_days * _DAY_NS if job.retention_days > 0 else 0
        self._zone = ZoneInfo(job.zone)
        self._redactor, self._folder, self._ledger, self._store = redactor, folder, ledger, store
        self._recipe = f"{_FORMAT}:{redactor.fingerprint}:{job.zone}"
        self._known = ledger.entries()
        self._redacted: Counter[str] = Counter()
        self._failures: list[Failure] = []
        self._report = ExportReport()

    def over(self, files: Sequence[TranscriptFile]) -> ExportReport:
        recent = [file for file in files if file.mtime_ns >= self._oldest_ns]
        kept = [file for file in recent if not self._store.is_chore(self._key_of(file))]
        self._report.expired = len(files) - len(recent)
        self._report.left_out = len(recent) - len(kept)
        self._folder.remove_leftovers()
        for file in kept:
            if self._is_current(file):
                self._report.unchanged += 1
            else:
                self._export_or_keep(file)
        self._remove_all_but({file.name for file in kept})
        self._report.redacted, self._report.failures = dict(self._redacted), self._failures
        return self._report

    def _key_of(self, file: TranscriptFile) -> str:
        """The session of a file. The store forgets a session's older files; the ledger remembers whose they were."""
        remembered = self._known.get(file.name) or self._known.get(f"{file.session_id}.jsonl")
        return self._store.key_of(file.name) or (remembered.session_key if remembered else "")

    def _is_current(self, file: TranscriptFile) -> bool:
        known = self._known.get(file.name)
        if known is None:
            return False
        same = (known.size_bytes, known.mtime_ns, known.recipe) == (file.size_bytes, file.mtime_ns, self._recipe)
        return same and (self._folder.size_bytes(export_name(file.name)) or 0) == known.export_bytes

    def _export_or_keep(self, file: TranscriptFile) -> None:
        try:
            self._export(file)
        except ForeignFileError as error:
            self._failures.append(Failure(file.name, "foreign_file", str(error)))
        except OSError as error:
            self._failures.append(Failure(file.name, "io_error", _reason(error)))

    def _export(self, file: TranscriptFile) -> None:
        name = export_name(file.name)
        rendering = Rendering(file.name, self._zone)
        with open_transcript(self._source / file.name) as opened:
            transcript = Transcript(opened)
            size = self._folder.write(name, file.name, rendering.lines(self._conversation(transcript)))
        self._report.bad_lines += transcript.bad_lines
        self._report.turns += rendering.turns
        if size:
            self._report.written += 1
        else:
            self._report.empty += 1
            self._report.removed += self._folder.remove(name, file.name)
        # What was listed, not what was read: a file that grew in between is read again next time.
        entry = Entry(
            file.name, self._key_of(file), file.size_bytes, file.mtime_ns, self._recipe, size, rendering.turns
        )
        self._ledger.record(entry, rendering.line_map)

    def _conversation(self, transcript: Transcript) -> Iterator[Message]:
        for message in transcript.messages():
            # Once with its line breaks, for keys in blocks, and once as it is written, for values behind a line break.
            text = self._without_secrets(sanitize(message.role, message.text))
            text = self._without_secrets(collapse(text))
            if text:
                yield Message(message.line, message.role, text, message.at)

    def _without_secrets(self, text: str) -> str:
        redacted = self._redactor.redact(text)
        self._redacted.update(redacted.counts)
        return redacted.text

    def _remove_all_but(self, kept: set[str]) -> None:
        """Delete our exports of transcripts that are deleted or expired, also those that the ledger has forgotten."""
        for name in self._known.keys() - kept:
            self._report.removed += self._folder.remove(export_name(name), name)
            self._ledger.forget(name)
        for name in self._folder.names() - {export_name(transcript) for transcript in kept}:
            owner = self._folder.owner(name) if name.endswith(".md") else None
            if owner is not None and name == export_name(owner):
                self._report.removed += self._folder.remove(name, owner)
