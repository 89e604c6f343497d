"""What a query leaves out: sources, days, and what is not relevant enough. All of it before the cut."""

from __future__ import annotations

from datetime import date

import pytest

from backends.base import Source
from tests.contract.conftest import Make
from tests.contract.desk import Desk
from tests.contract.notes import CONVERSATIONS, DAYS


def test_sessions_alone_show_no_notes(archive: Desk) -> None:
    found = archive.answer("gliders", sources=frozenset({Source.SESSIONS}), max_results=50).hits
    assert {hit.source for hit in found} == {Source.SESSIONS}
    assert {hit.path for hit in found} <= {f"qmd/sessions/{name}" for name in CONVERSATIONS}


def test_notes_alone_show_no_sessions(archive: Desk) -> None:
    found = archive.answer("glider meeting", sources=frozenset({Source.MEMORY}), max_results=50).hits
    assert {hit.source for hit in found} == {Source.MEMORY}


def test_without_a_filter_both_are_searched(archive: Desk) -> None:
    """Two hundred notes leave room for a conversation that answers better."""
    assert archive.best("which glider is in repair?").source is Source.SESSIONS
    assert archive.best("when was the glider meeting held?").source is Source.MEMORY


def test_of_conversations_only_those_that_may_be_seen_are_found(archive: Desk) -> None:
    """Notes are not concerned."""
    seen = "s7.md"
    assert {seen} < {*CONVERSATIONS}
    found = archive.answer("glider number", sessions=frozenset({seen}), max_results=50).hits
    assert {hit.relative for hit in found if hit.source is Source.SESSIONS} == {seen}
    assert {hit.source for hit in archive.answer("glider", sessions=frozenset()).hits} == {Source.MEMORY}


def test_hidden_conversations_push_no_visible_one_out(make: Make) -> None:
    """A hundred answer better, and none of them takes a place."""
    hidden = {f"h{n}.md": f"# Session h{n}\n\nUser: the zebracomet, zebracomet {n}\n" for n in range(120)}
    seen = {"seen.md": "# Session seen\n\n" + "User: filler words of the day\n" * 40 + "User: a zebracomet came by\n"}
    desk = make({"memory/2026-01-01.md": "A zebracomet was drawn.\n"}, hidden | seen)
    answer = desk.answer("zebracomet", sessions=frozenset(seen), max_results=3)
    assert sorted(hit.path for hit in answer.hits) == ["memory/2026-01-01.md", "qmd/sessions/seen.md"]
    assert len(desk.answer("zebracomet", max_results=3).hits) == 3


def test_a_third_of_the_places_is_for_notes_however_many_conversations_may_be_seen(make: Make) -> None:
    """As many as there are."""
    talk = {f"s{n}.md": f"# Session s{n}\n\nUser: the zebracomet, zebracomet {n}\n" for n in range(60)}
    notes = {f"memory/n{n}.md": f"{'Filler of the day. ' * 20}\n\nA zebracomet was drawn, {n}.\n" for n in range(2)}
    hits = make(notes, talk).answer("zebracomet", sessions=frozenset(talk)).hits
    assert [hit.source for hit in hits].count(Source.MEMORY) == 2
    assert len(hits) == 6


def test_no_source_is_no_hit(archive: Desk) -> None:
    assert archive.answer("gliders", sources=frozenset()).hits == ()


def test_files_without_anything_relevant_enough_explain_an_empty_list(archive: Desk) -> None:
    """They are counted where nothing else was found."""
    assert archive.answer("glider meeting").below_min_score == 0
    empty = archive.answer("glider xylophone quantum", min_score=0.99)
    assert empty.hits == ()
    assert empty.below_min_score > 0


@pytest.mark.parametrize(
    ("after", "before"),
    [
        (DAYS[10], DAYS[10]),
        (DAYS[100], DAYS[103]),
        (DAYS[-2], None),
        (None, DAYS[0]),
    ],
    ids=["one-day", "some-days", "after", "before"],
)
def test_days_are_inclusive_and_filter_before_the_cut(archive: Desk, after: date | None, before: date | None) -> None:
    """All notes of the days, and no others, though every note of the year would do."""
    answer = archive.answer("glider meeting", after=after, before=before, sources=frozenset({Source.MEMORY}))
    wanted = {f"memory/{day}.md" for day in DAYS if (after or day) <= day <= (before or day)}
    assert {hit.path for hit in answer.hits} == wanted


def test_a_wide_range_of_days_fills_the_list(archive: Desk) -> None:
    """Half a year has more than enough, each from within."""
    answer = archive.answer("glider meeting", after=DAYS[90], sources=frozenset({Source.MEMORY}))
    assert len(answer.hits) == 6
    assert all(hit.path >= f"memory/{DAYS[90]}" for hit in answer.hits)


def test_a_note_without_a_day_is_in_no_range_of_days(archive: Desk) -> None:
    """`MEMORY.md` is timeless."""
    assert archive.paths("zebracomet", after=DAYS[0]) == []


def test_nothing_below_the_least_score_is_shown(archive: Desk) -> None:
    """A part of what was asked is enough for a low threshold, and not for a high one."""
    assert archive.paths("zebracomet bandersnatch", min_score=0.2) == ["MEMORY.md"]
    assert archive.paths("zebracomet bandersnatch", min_score=0.95) == []
