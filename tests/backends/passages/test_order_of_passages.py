"""Which passage comes first: names, newer statements, importance, age, and room for notes beside conversations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from backends.base import Hit, Query
from backends.corpus import Kind, Located, Root
from backends.passages import Assembled, Candidate, assemble
from backends.passages.ordering import Ranking

TODAY = date(2026, 6, 30)
Write = Callable[..., Located]
LIMITS: dict[str, Any] = {"min_score": 0.35, "max_chars": 700, "deadline_at": 0.0, "today": TODAY}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a note, or a conversation."""

    def written(name: str, text: str, *, kind: Kind = Kind.DAILY) -> Located:
        folder = tmp_path / kind
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return Located(Root(name=kind, kind=kind, path=folder, patterns=("**/*.md",), shown=f"{kind}/"), name)

    return written


def assembled(query: str, places: Sequence[Located], ranking: Ranking | None = None, **fields: Any) -> Assembled:
    asked = {"max_results": 6, **LIMITS, **fields}
    return assemble(
        [Candidate(located=place) for place in places], Query(text=query, **asked), None, ranking or Ranking()
    )


def hits(query: str, places: Sequence[Located], ranking: Ranking | None = None, **fields: Any) -> list[Hit]:
    return assembled(query, places, ranking, **fields).hits


def names(found: Sequence[Hit]) -> list[str]:
    return [hit.relative for hit in found]


def test_a_newer_statement_of_the_same_fact_comes_first(write: Write) -> None:
    """The older one follows, says which line is newer, and is not more relevant than that."""
    places = [
        write("2026-05-06.md", "- The exporter of the ingest listens on port 8080.\n"),
        write("2026-06-10.md", "- Moved the exporter, it now listens on port 9090.\n"),
    ]
    newer, older = hits("Which port does the exporter listen on?", places)
    assert (newer.relative, newer.newer) == ("2026-06-10.md", None)
    assert (older.relative, older.newer) == ("2026-05-06.md", "daily/2026-06-10.md#L1")
    assert older.score <= newer.score


def test_the_newest_of_many_statements_comes_first(write: Write) -> None:
    """However many older notes say it in as many words, or in fewer."""
    places = [write(f"2026-05-{day:02}.md", f"- The exporter listens on port 80{day}.\n") for day in range(1, 31)]
    places.append(write("2026-06-10.md", "- After lunch: moved the exporter, it now listens on port 9090, says Tom.\n"))
    found = assemble(
        [
            Candidate(located=place, start_line=1, end_line=2, preview=place.file.read_text(encoding="utf-8"))
            for place in places
        ],
        Query(text="Which port does the exporter listen on?", max_results=2, **LIMITS),
        None,
        Ranking(),
    ).hits
    assert [(hit.relative, hit.newer) for hit in found] == [
        ("2026-06-10.md", None),
        ("2026-05-30.md", "daily/2026-06-10.md#L1"),
    ]


def test_diversity_reorders_the_best_and_loses_none(write: Write) -> None:
    """Whoever wants more than are reordered gets the others behind them."""
    candidates = [
        Candidate(located=write(f"{at}.md", f"- rocket launch {at}\n"), start_line=1, end_line=1, vector_score=0.9)
        for at in range(60)
    ]
    query = Query(text="rocket launch", max_results=50, **LIMITS)
    assert len(assemble(candidates, query, None, Ranking(mmr_lambda=0.7)).hits) == 50


def test_a_newer_note_on_something_else_stays_behind(write: Write) -> None:
    """Being newer is no merit of its own."""
    places = [
        write("2026-05-06.md", "- The metrics exporter of the ingest listens on port 8080.\n"),
        write("2026-06-10.md", "- The port of Rostock was beautiful, and the ferry late.\n"),
    ]
    assert names(hits("Which port does the metrics exporter listen on?", places, min_score=0.0))[0] == "2026-05-06.md"


@pytest.mark.parametrize("query", ["daily/projects/router.md", "router.md", "router"])
def test_a_file_that_is_asked_for_by_name_comes_first(write: Write, query: str) -> None:
    """By its whole path, its base name or its stem, before every note that only speaks of it."""
    places = [write("a.md", f"- see {query} router router router\n" * 5), write("projects/router.md", "- 10.0.0.1\n")]
    found = hits(query, places)
    assert found[0].relative == "projects/router.md"
    assert found[0].score > max(hit.score for hit in found[1:])


def test_the_whole_path_is_worth_more_than_the_stem(write: Write) -> None:
    """Exact path, then base name, then stem."""
    place = write("projects/router.md", "- 10.0.0.1\n")
    scores = [hits(query, [place])[0].score for query in ("daily/projects/router.md", "router.md", "router")]
    assert scores == sorted(set(scores), reverse=True)


def test_an_important_note_goes_before_an_equal_one(write: Write) -> None:
    """`importance: 10` raises a fact, `importance: 1` lowers it; a fact that says nothing stands between them."""
    places = [
        write("low.md", "- the spare key is with Tom <!-- importance: 1 -->\n"),
        write("plain.md", "- the spare key is with Ines\n"),
        write("high.md", "- the spare key is with Maya <!-- importance: 10 -->\n"),
    ]
    assert names(hits("where is the spare key", places)) == ["high.md", "plain.md", "low.md"]


def test_the_nearest_importance_counts(write: Write) -> None:
    """A fact in an important section that is called unimportant is that, and no importance counts twice."""
    place = write(
        "a.md",
        "# Keys <!-- Importance: 10 -->\n\n- the spare key is with Tom <!-- importance: 10 -->\n\n"
        + "- weather was fine\n" * 60
        + "\n- the spare key is with Maya <!-- importance: 1 -->\n",
    )
    first, second, *_ = hits("where is the spare key kept with Tom or Maya", [place], max_chars=60, explain=True)
    assert [hit.explain["factor"] for hit in (first, second) if hit.explain] == [1.25, 0.8]


def test_importance_decides_nothing_about_relevance(write: Write) -> None:
    """A passage below the threshold stays out, however important it is."""
    place = write("high.md", "- the garden <!-- importance: 10 -->\n")
    query = "garden party invitation list"
    score = hits(query, [place], min_score=0.0)[0].explain or {}
    relevance = hits(query, [place], min_score=0.0, explain=True)[0].explain or score
    assert hits(query, [place], min_score=relevance["relevance"] + 0.01) == []


def test_old_notes_fade_when_decay_is_on(write: Write) -> None:
    """Dated notes lose half of their relevance in a half-life, undated ones nothing; off is off."""
    places = [
        write("2025-09-15.md", "- Rod works Monday to Friday, standup at ten\n"),
        write("schedule.md", "- Rod works from home, standup in the kitchen\n"),
    ]
    decaying = Ranking(half_life_days=30)
    assert names(hits("when does Rod work, standup", places, decaying)) == ["schedule.md", "2025-09-15.md"]
    faded, fresh = (hits("Rod standup", places[:1], ranking)[0].score for ranking in (decaying, Ranking()))
    assert faded == pytest.approx(0.2 * fresh)


def test_conversations_leave_every_third_place_to_notes(write: Write) -> None:
    """However many of them match better."""
    talk = "- user: the boat engine again\n- assistant: the boat engine of the boat\n"
    sessions = [write(f"s{at}.md", talk, kind=Kind.SESSION) for at in range(20)]
    notes = [write(f"n{at}.md", "- an engine\n") for at in range(5)]
    kinds = [hit.kind for hit in hits("boat engine", [*sessions, *notes], max_results=9, min_score=0.1)]
    assert [at for at, kind in enumerate(kinds, 1) if kind is Kind.DAILY] == [3, 6, 9]


def test_a_third_of_the_places_is_not_kept_for_what_is_not_relevant(write: Write) -> None:
    """Without a relevant note conversations have every place."""
    sessions = [write(f"s{at}.md", "- user: the boat engine\n", kind=Kind.SESSION) for at in range(8)]
    notes = [write("n.md", "- the weather\n")]
    assert {hit.kind for hit in hits("boat engine", [*sessions, *notes])} == {Kind.SESSION}


def test_a_file_that_changed_since_it_was_indexed_is_shown_as_it_is(write: Write) -> None:
    """What the engine remembers is never shown: the passage is looked for anew on disk."""
    place = write("a.md", "- weather\n- the zebracomet is blue now\n")
    stale = Candidate(located=place, start_line=1, end_line=2, preview="- the zebracomet is red\n- weather")
    asked = Query(text="zebracomet", max_results=6, min_score=0.3, max_chars=700, deadline_at=0.0)
    (hit,) = assemble([stale], asked, None, Ranking()).hits
    assert (hit.snippet, hit.start_line) == ("- weather\n- the zebracomet is blue now", 1)


def test_a_file_that_lost_the_words_since_gives_nothing(write: Write) -> None:
    """A fact that was deleted is gone at once."""
    place = write("a.md", "- weather\n- rain\n")
    stale = Candidate(located=place, start_line=1, end_line=2, preview="- the zebracomet is red\n- weather")
    asked = Query(text="zebracomet", max_results=6, min_score=0.3, max_chars=700, deadline_at=0.0)
    assert assemble([stale], asked, None, Ranking()).hits == []


def test_what_was_left_out_is_counted_by_reason(write: Write) -> None:
    """An explained search tells what happened to every file that was looked at."""
    places = [
        write("2026-06-01.md", "- the boat engine\n"),
        write("2026-01-01.md", "- the boat engine\n"),
        write("2026-06-02.md", "- the weather\n"),
        write("2026-06-03.md", "- the boat engine\n"),
    ]
    places[3].file.unlink()
    found = assembled("boat engine", places, after=date(2026, 5, 1), explain=True)
    assert found.explained() == {
        "candidateFiles": 4,
        "leftOut": {"otherDays": 1, "gone": 1, "belowMinScore": 1, "lowerThanTheHits": 0},
    }


def test_an_explained_hit_says_why_it_stands_where_it_does(write: Write) -> None:
    """Both parts of its score, age, importance, the matched words and the lines they stand on."""
    place = write("2026-05-31.md", "- weather\n- the boat engine failed <!-- importance: 9 -->\n")
    (hit,) = hits("boat engine repair", [place], Ranking(half_life_days=30), explain=True)
    why = dict(hit.explain or {})
    assert why["matchedWords"] == ["boat", "engin"]
    assert why["window"] == {"reason": "words", "lines": [2]}
    assert why["decay"] == pytest.approx(0.5)
    assert why["factor"] == pytest.approx(0.5 * 1.2)
    assert hit.score == pytest.approx(why["relevance"] * why["factor"], abs=1e-3)
    assert why["day"] == "2026-05-31"
