"""One search as its files see it, and one file of it: its name, its day, its lines."""

from __future__ import annotations

from datetime import date
from functools import cached_property

from backends.base import Mode, Query
from backends.corpus import Located, read_text
from backends.dates import day_in, day_of_file
from backends.passages.ordering import Ranking, age_factor
from backends.relevance import Question
from backends.text.lines import Lines
from backends.text.tokens import normalize

#: Files beyond this size are not memory: the indexer lists them as skipped, and reading stops there.
MAX_FILE_BYTES = 8 * 1024 * 1024
#: The relevance of a file that was asked for by its path, or by the tail of it with and without its ending: above all
#: that only mentions it.
NAMED = (1.0, 0.995, 0.99)


def name_in(text: str) -> str:
    """The name of a file that a question may be, as typed."""
    return text.strip().strip("\"'`")


class Asked:
    """One search as every file of it sees it."""

    def __init__(self, query: Query, question: Question, ranking: Ranking) -> None:
        self.query = query
        self.question = question
        self.ranking = ranking
        self.by_words = query.mode is not Mode.VSEARCH
        #: The question as it would stand in a path.
        self.name = normalize(name_in(query.text))


class File:
    """One file in one search, read when it is needed, unless its text is known."""

    def __init__(self, located: Located, asked: Asked, text: str | None = None) -> None:
        self.located = located
        stem = located.relative.rpartition(".")[0]
        #: The relevance that the question's being this file's name gives, 0 for any other question.
        self.named = _named(normalize(located.path), asked.name)
        self.name = asked.question.name_shares(stem) if not self.named else dict.fromkeys(asked.question.numbers, 1.0)
        self.is_asked_day = asked.question.is_asked_day(stem)
        self._asked = asked
        self._text = text
        #: Lines (1-based, inclusive) that were shown.
        self.shown: list[tuple[int, int]] = []

    def was_shown(self, line: int) -> bool:
        """Whether a line is part of a hit already."""
        return any(first <= line <= last for first, last in self.shown)

    def name_words(self) -> list[str]:
        """The words of the question that the name holds."""
        return [self._asked.question.terms[term].text for term in self.name]

    @cached_property
    def lines(self) -> Lines | None:
        """The file as it is on disk, None when it is gone or unreadable."""
        if self._text is not None:
            return Lines(self._text)
        try:
            return Lines(read_text(self.located, max_bytes=MAX_FILE_BYTES))
        except OSError:
            return None

    @cached_property
    def written_day(self) -> date | None:
        """The day in the file's name. When a file was touched says little about when its statements were made."""
        return day_in(self.located.relative)

    @cached_property
    def day(self) -> date | None:
        """The day that the file speaks of."""
        return day_of_file(self.located)

    @property
    def age(self) -> float:
        """The share of its relevance that its age leaves it."""
        half_life = self._asked.ranking.half_life_days
        return 1.0 if half_life is None else age_factor(self.day, self._asked.query.today, half_life)


def _named(path: str, name: str) -> float:
    if not name or name not in path:
        return 0.0
    whole, tail, stem = NAMED
    if path == name:
        return whole
    if f"/{path}".endswith(f"/{name}"):
        return tail
    return stem if f"/{path.rpartition('.')[0]}".endswith(f"/{name}") else 0.0
