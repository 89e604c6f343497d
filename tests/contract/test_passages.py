"""What is shown of a file: lines that stand there, that fit and do not repeat; and what their score means."""

from __future__ import annotations

from itertools import pairwise

import pytest

from backends.base import Hit
from tests.contract.desk import Desk
from tests.contract.notes import ACCENTED, DEPLOY, FAMILY, HOUSE, LOG, WINDOWS

QUESTIONS = ["wifi", "room with a window", "deploy people", "quasarfish"]


def _is_quoted(desk: Desk, hit: Hit) -> bool:
    """Whether the snippet is what stands at its lines."""
    lines = desk.lines(hit.path)[hit.start_line - 1 : hit.end_line]
    return hit.snippet == "\n".join(lines) or (hit.partial and len(lines) == 1 and hit.snippet in lines[0])


@pytest.mark.parametrize("max_chars", [60, 700])
def test_a_snippet_is_the_lines_of_its_file_and_fits(library: Desk, max_chars: int) -> None:
    """Read back from the file that the path names, exactly from the first to the last line."""
    for answer in library.answers(QUESTIONS, max_chars=max_chars, min_score=0.0, max_results=20):
        assert answer.hits
        for hit in answer.hits:
            assert _is_quoted(library, hit), hit
            assert len(hit.snippet) <= max_chars


def test_lines_of_windows_are_lines(library: Desk) -> None:
    """A byte order mark and carriage returns are not shown, and count for no line."""
    best = library.best("avocet")
    assert (best.path, best.start_line, best.snippet) == (WINDOWS, 1, "First line.\nThe avocet wades.\nLast line.")


def test_scores_are_relevances_best_first(library: Desk) -> None:
    """In 0..1, falling, and none below what was asked for."""
    for answer in library.answers(QUESTIONS, min_score=0.3, max_results=20):
        scores = [hit.score for hit in answer.hits]
        assert all(0.3 <= score <= 1 for score in scores)
        assert scores == sorted(scores, reverse=True)


def test_passages_of_a_file_do_not_overlap(library: Desk) -> None:
    """Each line is shown once."""
    hits = [hit for hit in library.answer("room window", max_results=20, min_score=0.0).hits if hit.path == HOUSE]
    assert len(hits) > 2
    for first, second in pairwise(sorted(hits, key=lambda hit: hit.start_line)):
        assert first.end_line < second.start_line


def test_two_facts_far_apart_in_one_file_are_both_shown(library: Desk) -> None:
    snippets = [hit.snippet for hit in library.answer("wifi").hits]
    assert len(snippets) == 2
    assert any("The wifi password is lemonade." in snippet for snippet in snippets)
    assert any("The wifi router stands in the attic." in snippet for snippet in snippets)


def test_the_passage_that_answers_is_shown_and_not_the_head_of_the_file(library: Desk) -> None:
    best = library.best("where does the router stand?", max_chars=200)
    assert best.path == HOUSE
    assert best.start_line <= 180 <= best.end_line


def test_a_line_that_is_too_long_is_shown_as_a_window_of_whole_characters(library: Desk) -> None:
    """Neither a family nor an accented letter is torn at its borders."""
    hit = library.best("quasarfish", max_chars=120)
    assert (hit.path, hit.start_line, hit.end_line, hit.partial) == (LOG, 2, 2, True)
    assert 0 < len(hit.snippet) <= 120
    assert hit.snippet.replace(FAMILY, "").replace(ACCENTED, "").strip() in ("", "quasarfish")


@pytest.mark.parametrize("word", ["quasarfish", "pulsarcrab"])
def test_the_window_of_a_long_line_holds_the_word(library: Desk, word: str) -> None:
    """Also where letters of many code points stand before or behind it."""
    assert word in library.best(word, max_chars=120).snippet


def test_a_longer_list_begins_with_the_shorter(archive: Desk) -> None:
    """The first n of twenty results are the n results, also where what is best is not what an engine finds first."""
    question = "the glider meeting on bandersnatches"
    longest = archive.answer(question, max_results=20, min_score=0.0).hits
    assert len(longest) == 20
    for count in (1, 3, 10):
        assert archive.answer(question, max_results=count, min_score=0.0).hits == longest[:count]


def test_a_word_that_one_of_two_notes_holds_scores_clearly(pair: Desk) -> None:
    """A corpus of two is no reason for doubt."""
    assert [hit.path for hit in pair.answer("zebracomet", min_score=0.7).hits] == ["MEMORY.md"]


@pytest.mark.parametrize("query", ["zebracomet bandersnatch", "harbour bandersnatch"])
def test_a_score_means_the_same_with_two_files_and_with_three_hundred(pair: Desk, archive: Desk, query: str) -> None:
    few, many = pair.best(query, min_score=0.0), archive.best(query, min_score=0.0)
    assert (few.path, few.start_line) == (many.path, many.start_line)
    assert few.score == pytest.approx(many.score, abs=0.1)


def test_a_hit_names_the_root_that_holds_it(library: Desk) -> None:
    """Root and relative path are those that the corpus gives for the shown path."""
    best = library.best("zebracomet")
    located = library.corpus.locate(best.path)
    assert located is not None
    assert (best.path, best.root, best.relative) == (DEPLOY, located.root.name, located.relative)
    assert (best.kind, best.trusted) == (located.root.kind, located.root.trusted)
