"""From what was shown to figures."""

from __future__ import annotations

import pytest

from tests.quality.questions import Passage, Question
from tests.quality.report import failures, table
from tests.quality.scoring import Shown, Verdict, figures

NEW, OLD, OTHER = Passage("june.md", "port 9090"), Passage("may.md", "port 8080"), Passage("who.md", "Ravi moved it")
PORT = Question("Which port?", "contradiction", "en", ((NEW,),), (OLD,))
BOTH = Question("Which port, and who moved it?", "multi", "en", ((NEW,), (OTHER,)))
NOBODY = Question("Which host?", "unanswerable", "en", ())
NEWER = Shown("june.md", "- It is on port 9090 now.", 0.8)
OLDER = Shown("may.md", "- It listens on port 8080.", 0.9)
ELSEWHERE = Shown("april.md", "- Nothing about port 9090 here.", 0.5)


def test_recall_is_the_share_of_the_evidence_that_was_shown() -> None:
    """One of two."""
    verdict = Verdict(BOTH, (NEWER,))
    assert (verdict.recall, verdict.missing()) == (0.5, [OTHER])


def test_evidence_counts_only_in_the_note_that_it_is_named_for() -> None:
    """The same words elsewhere are no evidence."""
    assert Verdict(PORT, (ELSEWHERE,)).recall == 0


def test_one_of_the_passages_that_say_the_same_is_enough() -> None:
    """Either place answers."""
    question = Question("Which port?", "fact", "en", ((OLD, NEW),))
    assert Verdict(question, (NEWER,)).recall == 1


def test_only_the_first_six_results_count() -> None:
    """More are not looked at."""
    assert Verdict(PORT, (*[ELSEWHERE] * 5, NEWER)).recall == 1
    assert Verdict(PORT, (*[ELSEWHERE] * 6, NEWER)).recall == 0


@pytest.mark.parametrize(("shown", "expected"), [((NEWER,), 1), ((OLDER, NEWER), 0.5), ((OLDER,), 0)])
def test_the_reciprocal_rank_is_that_of_the_first_evidence(shown: tuple[Shown, ...], expected: float) -> None:
    """First, second, not at all."""
    assert Verdict(PORT, shown).reciprocal_rank == expected


@pytest.mark.parametrize(
    ("shown", "expected"),
    [((NEWER, OLDER), True), ((NEWER,), True), ((OLDER, NEWER), False), ((OLDER,), False), ((), False)],
)
def test_the_newer_statement_must_come_before_the_older(shown: tuple[Shown, ...], expected: bool) -> None:
    """What is not shown at all is not first."""
    assert Verdict(PORT, shown).newer_first is expected


def test_figures_are_means_over_the_questions_that_they_are_about() -> None:
    """Questions without an answer have no recall, and only contradictions have an order."""
    verdicts = [Verdict(PORT, (OLDER, NEWER)), Verdict(BOTH, ()), Verdict(NOBODY, (ELSEWHERE,)), Verdict(NOBODY, ())]
    assert figures(verdicts) == {"recall@6": 0.5, "MRR": 0.25, "newer first": 0, "false answers": 0.5}


def test_the_table_has_a_row_for_each_kind_and_language_and_the_total() -> None:
    """And leaves a figure open that a group does not have."""
    rows = list(table([Verdict(PORT, (NEWER,)), Verdict(NOBODY, ())]))
    assert [row[:24].strip() for row in rows[1:]] == ["kind contradiction", "kind unanswerable", "language en", "total"]
    assert rows[2].split() == ["kind", "unanswerable", "1", "0.000"]


def test_the_failures_say_what_was_missed_and_what_was_shown_instead() -> None:
    """A question that was answered is not listed."""
    told = list(failures([Verdict(PORT, (NEWER,)), Verdict(BOTH, (NEWER,)), Verdict(NOBODY, (ELSEWHERE,))]))
    assert told == [
        "multi, en: Which port, and who moved it?",
        "    missed who.md: Ravi moved it",
        "    shown june.md (0.80)",
        "unanswerable, en: Which host?",
        "    shown april.md (0.50)",
    ]
