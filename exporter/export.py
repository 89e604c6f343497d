"""Bring an export folder up to date with a folder of transcripts. Synchronous: it runs in the worker process.

Each transcript is one step: read, sanitize, redact, write, record. A kill between two of them loses nothing and
repeats at most one step. What was not read this time keeps its old export; of what has only grown, the rest is read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import BinaryIO, Final
from zoneinfo import ZoneInfo

import apsw

from exporter.deletion import judge
from exporter.difference import Difference
from exporter.folder import ExportFolder, ForeignFileError
from exporter.full_disk import is_full
from exporter.job import Change, ExportJob, ExportReport, Failure
from exporter.ledger import Entry, Ledger, NewerLedgerError, Stopped
from exporter.markdown import Rendering
from exporter.redact import Redactor
from exporter.session_store import SessionStore, StoreUnreadableError
from exporter.transcript import (
    Bookmark,
    Listing,
    Message,
    Transcript,
    TranscriptFile,
    find_transcripts,
    open_transcript,
    session_of,
)
from exporter.wording import Wording

_DAY_NS: Final = 86_400 * 10**9
# Before any time that a file can have: anybody can set one.
_EVER_NS: Final = -(2**63)
# Raised when reading, sanitizing or rendering changes, so that old exports are made anew.
_FORMAT: Final = "2"


def export_sessions(job: ExportJob, alive: Callable[[], None] = lambda: None) -> ExportReport:
    """Run one export; `alive` is called for every message and every transcript that was read.

    What goes wrong is in the report, for single files and for all of them; old exports stay. Raises BadPatternError
    for a pattern, ZoneInfoNotFoundError or ValueError for the zone.
    """
    redactor = Redactor(job.redact_patterns, job.redact_allow)
    try:
        listing = find_transcripts(Path(job.transcripts))
        store = SessionStore(Path(job.transcripts))
    except StoreUnreadableError as error:
        return _failed("session_store_unreadable", str(error))
    except OSError as error:
        if isinstance(error, FileNotFoundError) and job.may_be_missing and not Path(job.ledger).exists():
            return ExportReport()
        # Missing or unreadable is no proof that the sessions were deleted.
        return _failed("transcripts_unreadable", f"{job.transcripts}: {_reason(error)}")
    try:
        with (
            ExportFolder(Path(job.export_folder), dry=job.dry_run) as folder,
            Ledger(Path(job.ledger), job.export_folder) as ledger,
        ):
            return _Run(job, redactor, folder, ledger, store, alive).over(listing)
    except OSError as error:
        return _failed(_code(error, "export_folder_unusable"), _reason(error))
    except NewerLedgerError as error:
        return _failed("ledger_newer", str(error))
    except apsw.Error as error:
        return _failed(_code(error, "ledger_unusable"), type(error).__name__)


def export_name(transcript: str) -> str:
    """The export's file name; no two transcripts share one."""
    return f"{transcript.removesuffix('.jsonl')}.md"


def transcript_lines(ledger: Path, export_folder: str, passages: Iterable[tuple[str, int, int]]) -> list[int | None]:
    """The 1-based line of its transcript that each passage begins with; None where all of it are lines that are ours.

    A passage is a transcript's name, and the first and last line in its export. Raises apsw.Error and OSError.
    """
    with Ledger(ledger, export_folder) as book:
        return [
            next(filter(None, book.line_map(name)[max(0, first - 1) : last]), None) for name, first, last in passages
        ]


def _failed(code: str, reason: str) -> ExportReport:
    report = ExportReport()
    report.has_failed(Failure("", code, reason))
    return report


def _code(error: OSError | apsw.Error, otherwise: str) -> str:
    return "disk_full" if is_full(error) else otherwise


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


class _Run:
    """One run over one folder."""

    def __init__(
        self,
        job: ExportJob,
        redactor: Redactor,
        folder: ExportFolder,
        ledger: Ledger,
        store: SessionStore,
        alive: Callable[[], None],
    ) -> None:
        self._job = job
        self._alive = alive
        self._source = Path(job.transcripts)
        self._oldest_ns = time.time_ns() - job.retention_days * _DAY_NS if job.retention_days > 0 else _EVER_NS
        self._zone = ZoneInfo(job.zone)
        self._redactor, self._folder, self._ledger, self._store = redactor, folder, ledger, store
        self._recipe = f"{_FORMAT}:{redactor.fingerprint}:{job.zone}"
        self._known = ledger.entries()
        # Asked twice of every file of other people's, each time by opening it.
        self._owner = cache(folder.owner)
        self._report = ExportReport()

    def over(self, listing: Listing) -> ExportReport:
        held = {file.name for file in listing.files if file.session_id in self._ledger.tombstones.sessions}
        files = [file for file in listing.files if file.name not in held]
        self._report.forgotten = len(held)
        recent = [file for file in files if file.mtime_ns >= self._oldest_ns]
        chores = {file.name: key for file in recent if self._store.is_chore(key := self._key_of(file))}
        kept = [file for file in recent if file.name not in chores]
        since_ns = self._job.since_s * 10**9 if self._job.since_s else _EVER_NS
        wanted = [file for file in kept if file.mtime_ns >= since_ns]
        self._report.expired = len(files) - len(recent)
        self._report.left_out = len(chores)
        self._report.passed_over = len(kept) - len(wanted)
        self._folder.remove_leftovers()
        for file in wanted:
            self._bring_up_to_date(file)
        unproven = self._judge(listing)
        self._remove_all_but({file.name for file in kept} | unproven)
        if not self._job.dry_run:
            self._remember(chores, {file.name for file in recent} | unproven)
            self._remember_owners(kept)
        self._report.has_looked_at(len(wanted))
        return self._report

    def _judge(self, listing: Listing) -> set[str]:
        """Bury the transcripts that were deleted; the names of those that are gone without a proof of that."""
        known = self._exported(listing) | {name for name, entry in self._known.items() if entry.export_bytes}
        known = {name for name in known if session_of(name) not in self._ledger.tombstones.sessions}
        gone = judge(known, listing, self._store)
        if gone.deleted:
            # A file that is renamed while its folder is listed can be missed: what is gone is gone twice.
            listing = find_transcripts(self._source)
            gone = judge(known, listing, self._store)
        for failure in gone.failures:
            self._report.has_failed(failure)
        if not self._job.dry_run:
            self._bury(listing, gone.deleted)
        return gone.kept

    def _bury(self, listing: Listing, deleted: Set[str]) -> None:
        """Bury what was deleted. A session of which an archive is left was not: its transcript got another name."""
        keys = {session_of(name): entry.session_key for name, entry in self._known.items()}
        sessions = listing.deleted | {session_of(name) for name in deleted}
        for session_id in sessions - {file.session_id for file in listing.files} - self._ledger.tombstones.sessions:
            self._ledger.tombstones.bury(session_id, keys.get(session_id, ""))

    def _exported(self, listing: Listing) -> set[str]:
        """The transcripts that have an export and are not listed, whatever the ledger knows of them."""
        strays = self._folder.names() - {export_name(file.name) for file in listing.files}
        owners = (self._owner(name) for name in strays if name.endswith(".md"))
        return {owner for owner in owners if owner}

    def _bring_up_to_date(self, file: TranscriptFile) -> None:
        if self._is_current(file):
            self._report.unchanged += 1
            self._report.empty += not self._known[file.name].turns
        else:
            self._export_or_keep(file)
            self._alive()

    def _remember(self, chores: Mapping[str, str], present: Set[str]) -> None:
        """Keep in mind whose the chores are, for the day on which the store forgets them; forget what is gone."""
        for name, key in chores.items():
            known = self._known.get(name)
            if known is None or (known.session_key, known.recipe) != (key, ""):
                self._ledger.record_key(name, key)
        for name in self._known.keys() - present:
            self._ledger.forget(name)

    def _remember_owners(self, kept: Sequence[TranscriptFile]) -> None:
        """Keep in mind whose the exports are, also where the store tells it late, and who started whom."""
        entries = self._ledger.entries()
        for file in kept:
            entry, key = entries.get(file.name), self._store.key_of(file.name)
            if entry is not None and key and entry.session_key != key:
                self._ledger.assign(file.name, key)
        owners = {entry.session_key for entry in entries.values()}
        # The store forgets a session before its archives are gone.
        left = {pair for pair in self._ledger.parents() if pair[0] in owners and not self._store.names(pair[0])}
        self._ledger.record_parents(self._store.parents() | left)

    def _key_of(self, file: TranscriptFile) -> str:
        """The session of a file. The store forgets a session's older files; the ledger remembers whose they were."""
        remembered = self._known.get(file.name) or self._known.get(f"{file.session_id}.jsonl")
        return self._store.key_of(file.name) or (remembered.session_key if remembered else "")

    def _is_current(self, file: TranscriptFile) -> bool:
        known = self._sound(file)
        return known is not None and (known.size_bytes, known.mtime_ns) == (file.size_bytes, file.mtime_ns)

    def _sound(self, file: TranscriptFile) -> Entry | None:
        """The entry of a file whose export is there, as it was written, and made by the rules of this run."""
        known = self._known.get(file.name)
        if known is None or known.recipe != self._recipe:
            return None
        return known if (self._folder.size_bytes(export_name(file.name)) or 0) == known.export_bytes else None

    def _export_or_keep(self, file: TranscriptFile) -> None:
        try:
            self._export(file)
        except ForeignFileError as error:
            self._report.has_failed(Failure(file.name, "foreign_file", str(error)))
        except OSError as error:
            self._report.has_failed(Failure(file.name, _code(error, "io_error"), _reason(error)))

    def _export(self, file: TranscriptFile) -> None:
        with open_transcript(self._source / file.name) as opened:
            known, stopped = self._known_start(file, opened)
            start = stopped.bookmark if stopped else Bookmark()
            transcript = Transcript(opened, start, is_chore=self._store.is_chore)
            rendering = self._rendering(file, known, stopped)
            keep = known.export_bytes if known else 0
            size = self._write(file, rendering, transcript, keep)
            bookmark = transcript.bookmark()
            self._report.read_bytes += opened.tell() - start.offset
        self._report.bad_lines += transcript.bad_lines
        self._report.empty += not rendering.turns
        if not self._job.dry_run:
            # What was listed, not what was read: a file that grew in between is looked at again next time.
            key = self._key_of(file) or self._named(transcript, rendering)
            facts = (file.size_bytes, file.mtime_ns, self._recipe, size, rendering.turns)
            stopped = Stopped(bookmark, rendering.day) if bookmark else None
            self._ledger.record(Entry(file.name, key, *facts), rendering.line_map, stopped)

    def _named(self, transcript: Transcript, rendering: Rendering) -> str:
        """The session that a transcript names itself; none where a chore came into a conversation."""
        key = transcript.session_key
        return "" if rendering.turns and self._store.is_chore(key) else key

    def _known_start(self, file: TranscriptFile, opened: BinaryIO) -> tuple[Entry | None, Stopped | None]:
        """What the ledger knows of a file that only grew since; nothing where it must be read from its beginning."""
        known = self._sound(file)
        stopped = self._ledger.stopped(file.name) if known and known.size_bytes < file.size_bytes else None
        return (known, stopped) if stopped and stopped.bookmark.holds(opened) else (None, None)

    def _rendering(self, file: TranscriptFile, known: Entry | None, stopped: Stopped | None) -> Rendering:
        if known is None or stopped is None:
            return Rendering(file.name, self._zone)
        lines = self._ledger.line_map(file.name)
        return Rendering(file.name, self._zone, line_map=lines, turns=known.turns, day=stopped.day)

    def _write(self, file: TranscriptFile, rendering: Rendering, transcript: Transcript, keep: int) -> int:
        """Write what the transcript has to add behind the first `keep` bytes of its export; the export's size."""
        name, wording, before = export_name(file.name), Wording(self._redactor), rendering.turns
        lines: Iterable[str] = rendering.lines(self._conversation(transcript, wording))
        difference = self._difference(name, len(rendering.line_map)) if self._job.diff else None
        size = self._folder.write(name, file.name, difference.watched(lines) if difference else lines, keep=keep)
        self._report.has_redacted(wording.found)
        self._report.turns += (turns := rendering.turns - before)
        if turns:
            self._report.has_changed(Change(file.name, "write", turns, wording.found.total()))
            self._show(name, difference)
        elif size:
            self._report.unchanged += 1
        else:
            self._remove(name, file.name)
        return size

    def _conversation(self, transcript: Transcript, wording: Wording) -> Iterator[Message]:
        for message in transcript.messages():
            self._alive()
            if not self._ledger.tombstones.hold_turn(message.text) and (line := wording.line(message)):
                yield Message(message.line, message.role, line, message.at)

    def _difference(self, name: str, same: int) -> Difference:
        return Difference(iter(()) if same else self._folder.lines(name), same=same)

    def _show(self, name: str, difference: Difference | None) -> None:
        """Put a difference into the report. An old export may hold what only the rules of this run call a secret."""
        if difference is None:
            return
        lines = [self._redactor.redact(line).text for line in difference.lines()]
        self._report.diff_cut = self._report.diff_cut or difference.cut
        if lines:
            self._report.show("\n".join([f"--- {name}", f"+++ {name}", *lines, ""]))

    def _remove_all_but(self, kept: set[str]) -> None:
        """Delete our exports of transcripts that are deleted or expired, also those that the ledger has forgotten."""
        strays = self._folder.names() - {export_name(transcript) for transcript in kept}
        owners = {name: self._owner(name) for name in strays if name.endswith(".md")}
        for name, owner in owners.items():
            if owner is not None and name == export_name(owner):
                self._remove(name, owner)

    def _remove(self, name: str, transcript: str) -> None:
        difference = self._difference(name, 0) if self._job.diff else None
        if self._folder.owner(name) == transcript:
            self._show(name, difference)
            self._folder.remove(name, transcript)
            self._report.has_changed(Change(transcript, "remove"))
