"""From what a search showed to figures: what was found, how early, what was made up, and what is out of date."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from tests.quality.questions import Passage, Question

#: Results that are looked at: the default of `maxResults`.
LOOKED_AT = 6


@dataclass(frozen=True, slots=True)
class Shown:
    """One result: its path, its snippet with whitespace collapsed, its score."""

    path: str
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """One question and what was shown for it, best first."""

    question: Question
    shown: tuple[Shown, ...]

    def missing(self) -> list[Passage]:
        """The first passage of every piece of evidence that was not shown."""
        return [group[0] for group in self.question.evidence if self._rank(group) is None]

    @property
    def recall(self) -> float:
        """The share of the evidence that was shown, 0..1; for questions that have some."""
        return 1 - len(self.missing()) / len(self.question.evidence)

    @property
    def reciprocal_rank(self) -> float:
        """One divided by the place of the first result that shows any evidence; 0 where none does."""
        rank = self._first_evidence()
        return 0.0 if rank is None else 1 / (rank + 1)

    @property
    def newer_first(self) -> bool:
        """Whether evidence was shown, and nothing outdated before it or beside it."""
        rank, outdated = self._first_evidence(), self._rank(self.question.outdated)
        return rank is not None and (outdated is None or rank < outdated)

    def _first_evidence(self) -> int | None:
        return self._rank([passage for group in self.question.evidence for passage in group])

    def _rank(self, passages: Iterable[Passage]) -> int | None:
        places = [(passage.path, passage.text) for passage in passages]
        for rank, shown in enumerate(self.shown[:LOOKED_AT]):
            if any(path == shown.path and text in shown.text for path, text in places):
                return rank
        return None


def figures(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """Each figure that these verdicts give, 0..1, by name. Fewer are better for false answers, more for the rest."""
    answerable = [verdict for verdict in verdicts if verdict.question.evidence]
    unanswerable = [verdict for verdict in verdicts if not verdict.question.evidence]
    dated = [verdict for verdict in verdicts if verdict.question.outdated]
    samples: dict[str, list[float]] = {
        f"recall@{LOOKED_AT}": [verdict.recall for verdict in answerable],
        "MRR": [verdict.reciprocal_rank for verdict in answerable],
        "newer first": [verdict.newer_first for verdict in dated],
        "false answers": [bool(verdict.shown) for verdict in unanswerable],
    }
    return {name: fmean(values) for name, values in samples.items() if values}


def grouped(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    """The verdicts by kind, by language, and all of them, under the names that figures are recorded with."""
    groups: dict[str, list[Verdict]] = {}
    for name in sorted({verdict.question.kind for verdict in verdicts}):
        groups[f"kind {name}"] = [verdict for verdict in verdicts if verdict.question.kind == name]
    for name in sorted({verdict.question.language for verdict in verdicts}):
        groups[f"language {name}"] = [verdict for verdict in verdicts if verdict.question.language == name]
    return groups | {"total": list(verdicts)}
