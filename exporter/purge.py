"""Have conversations forgotten: a session as a whole, or every turn that a pattern matches. Runs in the worker.

Here is only decided what must not be exported any more; the next export does it. A kill in between loses nothing:
the same purge again buries what is left, and the export comes after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from exporter.export import export_name
from exporter.job import ExportJob
from exporter.ledger import Ledger
from exporter.redact import Redactor, compile_pattern
from exporter.sanitize import sanitize
from exporter.session_store import SessionStore, is_same_key
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

#: So many beginnings of turns, each so long at least and at most, tell what is left of a session.
_MOST_TELLING: Final = 200
_TELLING_CHARS: Final = range(24, 81)


@dataclass(slots=True, kw_only=True)
class Buried:
    """What a purge found, and buried unless it was a trial.

    `turns` count what was not buried before, `sessions` the buried ones; `exports` names the exports of these.
    `transcripts` tells how many turns of which transcript hold it: the gateway's files, which stay as they are.
    `unread` are transcripts that could not be looked at. `telling` is text: the beginnings of the session's turns.
    """

    known: bool = False
    sessions: int = 0
    turns: int = 0
    exports: list[str] = field(default_factory=list)
    transcripts: dict[str, int] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    telling: list[str] = field(default_factory=list)


def bury(job: ExportJob, *, session: str = "", pattern: str = "", alive: Callable[[], None] = lambda: None) -> Buried:
    """Bury a session (its key or its id), or else the turns that a pattern matches; with `dry_run` only look.

    Raises OSError when transcripts cannot be listed, BadPatternError, apsw.Error.
    """
    folder = Path(job.transcripts)
    listing, store = find_transcripts(folder), SessionStore(folder)
    redactor = Redactor(job.redact_patterns, job.redact_allow)
    with Ledger(Path(job.ledger), job.export_folder) as ledger:
        purge = _Purge(job, listing, store, ledger, redactor, alive)
        if session:
            purge.session(session)
        else:
            purge.turns(compile_pattern(pattern))
    return purge.buried


class _Purge:
    """One purge of one agent's conversations."""

    def __init__(
        self,
        job: ExportJob,
        listing: Listing,
        store: SessionStore,
        ledger: Ledger,
        redactor: Redactor,
        alive: Callable[[], None],
    ) -> None:
        self._job = job
        self._listing, self._store, self._ledger, self._alive = listing, store, ledger, alive
        self._wording = Wording(redactor)
        self._known = ledger.entries()
        self.buried = Buried()

    def session(self, named: str) -> None:
        """Bury every session that has, or had, this key, or that has this id."""
        names = {file.name for file in self._listing.files} | self._known.keys()
        before = self._ledger.tombstones.of_key(named) | ({named} & self._ledger.tombstones.sessions)
        ids = before | {
            session_of(name) for name in names if named == session_of(name) or is_same_key(named, self._key_of(name))
        }
        names = {name for name in names if session_of(name) in ids}
        self.buried.known = bool(ids)
        self.buried.sessions = len(ids - before)
        self.buried.exports = sorted(map(export_name, names))
        self.buried.turns = sum(self._known[name].turns for name in names & self._known.keys())
        for file in self._listing.files:
            if file.session_id in ids:
                self._learn(file)
        for session_id in () if self._job.dry_run else ids:
            key = next((key for name in names if session_of(name) == session_id and (key := self._key_of(name))), "")
            mine = [name for name in names if session_of(name) == session_id]
            self._ledger.forget_session(session_id, key, mine)

    def _is_of(self, name: str, named: str) -> bool:
        return named == session_of(name) or is_same_key(named, self._key_of(name))

    def _key_of(self, name: str) -> str:
        known = self._known.get(name)
        return self._store.key_of(name) or (known.session_key if known else "")

    def _learn(self, file: TranscriptFile) -> None:
        """Count the turns of a transcript, and keep what tells them from others."""
        for message in self._messages(file):
            if line := self._wording.line(message):
                self.buried.transcripts[file.name] = self.buried.transcripts.get(file.name, 0) + 1
                if len(self.buried.telling) < _MOST_TELLING and len(line) >= _TELLING_CHARS.start:
                    self.buried.telling.append(line[: _TELLING_CHARS.stop - 1])

    def turns(self, pattern: Any) -> None:
        """Bury every turn that the pattern matches, as it was said or as it is exported."""
        self.buried.known = True
        for file in self._listing.files:
            if file.session_id not in self._ledger.tombstones.sessions:
                self._bury_turns(file, pattern)

    def _bury_turns(self, file: TranscriptFile, pattern: Any) -> None:
        texts = [message.text for message in self._messages(file) if self._holds(message, pattern)]
        if not texts:
            return
        fresh = {self._ledger.tombstones.digest(text) for text in texts if not self._ledger.tombstones.hold_turn(text)}
        self.buried.transcripts[file.name] = len(texts)
        self.buried.exports.append(export_name(file.name))
        self.buried.turns += len(fresh)
        if not self._job.dry_run:
            # Also where all of them were buried before: a kill may have come between that and the export.
            self._ledger.forget_turns(file.name, fresh)

    def _holds(self, message: Message, pattern: Any) -> bool:
        said = sanitize(message.role, message.text).encode("utf-8", "replace")
        return bool(pattern.search(said) or pattern.search(self._wording.line(message).encode()))

    def _messages(self, file: TranscriptFile) -> Iterator[Message]:
        try:
            with open_transcript(Path(self._job.transcripts) / file.name) as opened:
                for message in Transcript(opened, Bookmark(), is_chore=lambda key: False).messages():
                    self._alive()
                    yield message
        except OSError:
            self.buried.unread.append(file.name)
