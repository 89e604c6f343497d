"""A run as text: a table of figures, and what was missed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.quality.scoring import LOOKED_AT, Verdict, figures, grouped

_COLUMNS = (f"recall@{LOOKED_AT}", "MRR", "newer first", "false answers")


def table(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """One row per kind, per language and in total."""
    yield f"{'':<24}{'questions':>10}" + "".join(f"{name:>15}" for name in _COLUMNS)
    for group, members in grouped(verdicts).items():
        values = figures(members)
        cells = [f"{values[name]:.3f}" if name in values else "" for name in _COLUMNS]
        yield f"{group:<24}{len(members):>10}" + "".join(f"{cell:>15}" for cell in cells)


def failures(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Every question that was not answered as it should be, with the reason."""
    for verdict in verdicts:
        reasons = [*_reasons(verdict)]
        if reasons:
            question = verdict.question
            yield f"{question.kind}, {question.language}: {question.text}"
            yield from (f"    {reason}" for reason in reasons)


def _reasons(verdict: Verdict) -> Iterator[str]:
    for passage in verdict.missing():
        yield f"missed {passage.path}: {passage.text}"
    if verdict.question.outdated and not verdict.newer_first:
        yield f"older first, or newer not shown: {_results(verdict)}"
    elif verdict.missing() or (verdict.shown and not verdict.question.evidence):
        yield f"shown {_results(verdict)}"


def _results(verdict: Verdict) -> str:
    return ", ".join(f"{shown.path} ({shown.score:.2f})" for shown in verdict.shown) or "nothing"
