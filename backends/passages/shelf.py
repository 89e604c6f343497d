"""The hits of one search, one after another: the best passage of all files that may hold it, as it stands on disk."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from itertools import takewhile
from operator import is_

from backends.base import Hit
from backends.corpus import Kind
from backends.passages.candidates import Prospect, on_disk, remembered
from backends.passages.desk import Desk, Stretch
from backends.passages.file import Asked, File
from backends.passages.ordering import ABOUT_EQUAL, Statement
from backends.passages.showing import hit_of

#: So many files are laid out at once, those first of which most is expected.
_BATCH = 12
#: Of the files that wait, so many of the newest are asked for a newer word on the first fact that is shown.
_NEWER_FILES = 6
#: A passage is seldom so much more relevant than is expected of its file: labels, phrases and what stands around.
_MOST_BEYOND = 0.1
#: One place in so many is for notes when conversations are searched, too, as long as a note is relevant.
_PLACES_PER_NOTE = 3
_NOTES = frozenset({Kind.CURATED, Kind.DAILY})


@dataclass(frozen=True, slots=True)
class _Top:
    """A window that may be taken: its desk, its number there, and what it is ordered by."""

    desk: Desk
    at: int
    rank: float

    @property
    def file(self) -> File:
        return self.desk.file(self.at)

    @property
    def statement(self) -> Statement:
        return self.desk.statement(self.at)


class Shelf:
    """Gives the hits of files, best first. `left_out` counts the files that gave none, by reason."""

    def __init__(self, waiting: Sequence[Prospect], asked: Asked, left_out: Counter[str]) -> None:
        self._asked = asked
        self._left_out = left_out
        least = asked.query.min_score - _MOST_BEYOND
        self._waiting = [prospect for prospect in waiting if prospect.expected >= least]
        self._hopeless = len(waiting) - len(self._waiting)
        self._laid: dict[File, Prospect] = {}
        self._desks: list[Desk] = []
        self._named = sorted((each.file for each in waiting if each.file.named), key=lambda file: -file.named)
        self._shown: list[tuple[Statement, Hit]] = []

    def hits(self) -> Iterator[Hit]:
        """Every passage, best first."""
        while (top := self._next()) is not None:
            if (hit := self._taken(top)) is not None:
                yield hit

    def hits_with_room(self) -> Iterator[Hit]:
        """Every passage, best first, but for a note in every third place that conversations have not left one."""
        places = notes = 0
        while (top := self._next()) is not None:
            wants_note = notes < (places + 1) // _PLACES_PER_NOTE
            note = self._next(_is_note) if wants_note and not _is_note(top.file) else None
            if (hit := self._taken(note or top, keeps_room=note is not None)) is not None:
                places, notes = places + 1, notes + (hit.kind in _NOTES)
                yield hit

    def _next(self, allowed: Callable[[File], bool] | None = None) -> _Top | None:
        """The best window that is left. What may hold a better one is laid out first, one batch before each."""
        best, looked = self._best(allowed), False
        while self._waiting and (best is None or (not looked and self._waiting[0].expected > best.rank)):
            looked = best is not None and self._waiting[0].expected < math.inf
            self._lay_out(self._waiting[:_BATCH])
            best = self._best(allowed)
        return (self._best_named() if allowed is None else None) or best

    def _best_named(self) -> _Top | None:
        """The best window of the file that was asked for by its name."""
        while self._named:
            if (top := self._best(partial(is_, self._named[0]))) is not None:
                return top
            self._named.pop(0)
        return None

    def _best(self, allowed: Callable[[File], bool] | None) -> _Top | None:
        tops = [_Top(desk, at, desk.rank(at)) for desk in self._desks if (at := desk.best(allowed)) is not None]
        return max(tops, key=lambda top: top.rank, default=None)

    def _lay_out(self, batch: Sequence[Prospect]) -> None:
        files = {prospect.file for prospect in batch}
        self._waiting = [prospect for prospect in self._waiting if prospect.file not in files]
        stretches: list[Stretch] = []
        for prospect in batch:
            self._laid[prospect.file] = prospect
            stretches += remembered(prospect) or self._from_disk(prospect)
        if stretches:
            self._desks.append(Desk(stretches, self._asked))

    def _from_disk(self, prospect: Prospect) -> list[Stretch]:
        if prospect.file.lines is None:
            self._left_out["gone"] += 1
        return list(on_disk(prospect, self._asked))

    def _taken(self, top: _Top, *, keeps_room: bool = False) -> Hit | None:
        """The window as a hit, or a newer statement of the same fact; None where there is nothing to show by now."""
        named = self._named.pop(0).named if self._named and self._named[0] is top.file else 0.0
        top = top if named or keeps_room else self._newest(top)
        statement, passage = top.statement, top.desk.passage(top.at)
        shown = hit_of(passage, self._asked.query, named)
        if shown is None:
            self._lay_anew(passage.file)
            return None
        for desk in self._desks:
            desk.strike(passage.file, shown.start_line, shown.end_line)
        if not shown.snippet.strip():
            # What a reader sees as one character may be longer than the room for it.
            return None
        hit = self._behind_newer(shown, statement)
        self._shown.append((statement, hit))
        return hit

    def _lay_anew(self, file: File) -> None:
        for desk in self._desks:
            desk.drop(file)
        stretches = self._from_disk(self._laid[file])
        if not stretches:
            return
        desk = Desk(stretches, self._asked)
        for first, last in file.shown:
            desk.strike(file, first, last)
        self._desks.append(desk)

    def _newest(self, top: _Top) -> _Top:
        """A newer statement of the same fact, about as relevant, goes first."""
        day = top.file.written_day
        if day is None:
            return top
        if all(said.day is None for said, _ in self._shown):
            # Once in a search: the first of its dated answers is the one that people go by.
            self._lay_out_newer(day, top.rank - ABOUT_EQUAL)
        newer = [
            other
            for desk in self._desks
            for other in (_Top(desk, at, desk.rank(at)) for at in desk.best_of_each())
            if other.rank >= top.rank - ABOUT_EQUAL
            and (other.file.written_day or day) > day
            and other.statement.outdates(top.statement)
        ]
        return max(newer, key=lambda other: (other.file.written_day, other.rank), default=top)

    def _lay_out_newer(self, day: date, least: float) -> None:
        """Lay out the newest of the files that wait and may hold a newer word."""
        hopeful = takewhile(lambda prospect: prospect.expected >= least, self._waiting)
        dated = [(prospect.file.written_day or day, prospect) for prospect in hopeful]
        newer = sorted((each for each in dated if each[0] > day), key=lambda each: each[0], reverse=True)
        self._lay_out([prospect for _, prospect in newer[:_NEWER_FILES]])

    def _behind_newer(self, hit: Hit, statement: Statement) -> Hit:
        """A hit that stands behind a newer word on the same fact says so, and is not more relevant than that."""
        newer = next((shown for said, shown in self._shown if said.outdates(statement)), None)
        if newer is None:
            return hit
        return replace(hit, score=min(hit.score, newer.score), newer=f"{newer.path}#L{newer.start_line}")

    def count_silent(self, hits: Sequence[Hit]) -> None:
        """Count the files that gave none of these hits and had no other reason."""
        shown = {hit.path for hit in hits}
        relevant = {desk.file(at).located.path for desk in self._desks for at in desk.best_of_each()}
        laid = {file.located.path for file in self._laid}
        self._left_out["lowerThanTheHits"] += len(self._waiting) + len(relevant - shown)
        self._left_out["belowMinScore"] += len(laid - relevant - shown) - self._left_out["gone"] + self._hopeless


def _is_note(file: File) -> bool:
    return file.located.root.kind in _NOTES
