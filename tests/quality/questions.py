"""The questions of `questions.yaml`, and the notes that they are about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
NOTES = HERE / "notes"
QUESTIONS = HERE / "questions.yaml"


@dataclass(frozen=True, slots=True)
class Passage:
    """A literal stretch of one line of a note, whitespace collapsed."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and what must be shown.

    Each piece of `evidence` is a group of passages that say the same: one of them is enough. No evidence means that
    the notes do not hold the answer. `outdated` passages must come after the evidence.
    """

    text: str
    kind: str
    language: str
    evidence: tuple[tuple[Passage, ...], ...]
    outdated: tuple[Passage, ...] = ()

    def passages(self) -> Iterator[Passage]:
        """Every passage that the question names."""
        for group in self.evidence:
            yield from group
        yield from self.outdated


def load(file: Path = QUESTIONS) -> list[Question]:
    """All questions, in the order of the file."""
    return [_question(row) for row in yaml.safe_load(file.read_text(encoding="utf-8"))]


def collapsed(text: str) -> str:
    """The text with every run of whitespace as one space."""
    return " ".join(text.split())


def _question(row: Mapping[str, Any]) -> Question:
    evidence = tuple((_passage(piece), *map(_passage, piece.get("also", ()))) for piece in row["evidence"])
    outdated = tuple(map(_passage, row.get("outdated", ())))
    return Question(row["question"], row["kind"], row["language"], evidence, outdated)


def _passage(row: Mapping[str, Any]) -> Passage:
    return Passage(row["path"], row["text"])
