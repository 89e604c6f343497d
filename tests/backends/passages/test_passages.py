"""From candidates to passages: whole lines, exact numbers, no overlap, a stable order."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from backends.base import Hit, Query
from backends.corpus import Kind, Located, Root
from backends.passages import Candidate, assemble
from backends.passages.ordering import Ranking
from backends.relevance import SampleStatistics


class Notes:
    """A folder of notes and the passages of all of them."""

    def __init__(self, path: Path) -> None:
        self.root = Root(name="memory-dir", kind=Kind.DAILY, path=path, patterns=("**/*.md",), shown="memory/")

    def write(self, name: str, text: str) -> Located:
        (self.root.path / name).write_text(text, encoding="utf-8", newline="")
        return Located(self.root, name)

    def hits(self, query: str, *candidates: Candidate, **fields: Any) -> list[Hit]:
        asked = {"max_results": 6, "min_score": 0.35, "max_chars": 120, "deadline_at": 0.0, **fields}
        places = candidates or [Candidate(located=Located(self.root, f.name)) for f in sorted(self.root.path.iterdir())]
        return assemble(places, Query(text=query, **asked), None, Ranking()).hits


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path)


def filler(count: int) -> str:
    return "".join(f"- filler line number {at} says little\n" for at in range(count))


def test_the_snippet_is_the_lines_it_names(notes: Notes) -> None:
    """`start_line..end_line` are exactly the lines shown, also behind CRLF and a byte order mark."""
    notes.write("a.md", "\ufeff" + (filler(30) + "- the zebracomet is here\n" + filler(30)).replace("\n", "\r\n"))
    (hit,) = notes.hits("zebracomet")
    lines = (filler(30) + "- the zebracomet is here\n" + filler(30)).splitlines()
    assert hit.snippet == "\n".join(lines[hit.start_line - 1 : hit.end_line])
    assert hit.start_line <= 31 <= hit.end_line
    assert len(hit.snippet) <= 120
    assert not hit.partial


def test_two_far_facts_of_one_file_both_come_back(notes: Notes) -> None:
    """A long note gives a passage for each place that answers."""
    notes.write("a.md", "- alpha rocket\n" + filler(50) + "- bravo rocket\n")
    hits = notes.hits("rocket alpha bravo")
    assert [hit.start_line == 1 for hit in hits].count(True) == 1
    assert len(hits) == 2


def test_hits_do_not_overlap(notes: Notes) -> None:
    """However dense the matches, no line is shown twice."""
    notes.write("a.md", "".join(f"- rocket launch {at} went well for the team\n" for at in range(40)))
    place = Located(notes.root, "a.md")
    regions = [Candidate(located=place, start_line=at, end_line=at + 9) for at in range(1, 32, 3)]
    lines = _shown(notes.hits("rocket launch", *regions, max_results=50))
    assert len(lines) == len(set(lines))
    assert len(lines) > 30


def test_a_passage_that_is_widened_upwards_shares_no_line(notes: Notes) -> None:
    """A less important line that is shown above the best one is not shown once more."""
    notes.write("a.md", "- rocket launch <!-- importance: 1 -->\n- rocket launch\n")
    shown = _shown(notes.hits("rocket launch"))
    assert sorted(shown) == [1, 2]


def test_passages_of_places_apart_share_no_line(notes: Notes) -> None:
    """A passage that is widened beyond its place takes no line from one that lies there."""
    place = notes.write("a.md", "".join(f"- rocket {at}\n" for at in range(12)))
    text = place.file.read_text(encoding="utf-8").splitlines()
    known = [
        Candidate(located=place, start_line=at, end_line=at + 1, preview="\n".join(text[at - 1 : at + 1]))
        for at in (1, 4, 7, 10)
    ]
    shown = _shown(notes.hits("rocket", *known, min_score=0.0, max_results=20))
    assert len(shown) == len(set(shown))


def test_a_file_that_changed_behind_its_first_passage_repeats_no_line(notes: Notes) -> None:
    """What was shown before the change was noticed stays shown."""
    place = notes.write("a.md", "- rocket launch\n" + filler(20) + "- the rocket stands elsewhere\n")
    known = [
        Candidate(
            located=place, start_line=1, end_line=2, preview="- rocket launch\n- filler line number 0 says little"
        ),
        Candidate(located=place, start_line=21, end_line=22, preview="- filler line 19\n- the rocket stands here"),
    ]
    hits = notes.hits("rocket launch", *known, min_score=0.0, max_results=20)
    shown = _shown(hits)
    assert len(shown) == len(set(shown))
    assert {1, 22} <= set(shown)


def _shown(hits: list[Hit]) -> list[int]:
    return [line for hit in hits for line in range(hit.start_line, hit.end_line + 1)]


def test_a_longer_list_begins_with_the_shorter(notes: Notes) -> None:
    """Wanting more changes nothing in what came first."""
    for name in "abcd":
        notes.write(f"{name}.md", filler(3) + f"- rocket {name} launch\n" + filler(9) + "- rocket\n" + filler(5))
    long = notes.hits("rocket launch", max_results=20, min_score=0.0)
    for count in range(1, len(long)):
        assert notes.hits("rocket launch", max_results=count, min_score=0.0) == long[:count]


def test_one_long_line_gives_its_best_window(notes: Notes) -> None:
    """A line beyond the limit is cut around the words, and marked as partial."""
    notes.write("a.md", "intro\n" + "word " * 500 + "zebracomet nebula " + "word " * 500 + "\n")
    (hit,) = notes.hits("zebracomet nebula")
    assert (hit.start_line, hit.end_line, hit.partial) == (2, 2, True)
    assert "zebracomet nebula" in hit.snippet
    assert len(hit.snippet) <= 120


def test_a_cut_does_not_tear_clusters(notes: Notes) -> None:
    """A window inside a line of families and flags begins and ends between them."""
    family = "👩‍👩‍👧‍👦"
    notes.write("a.md", family * 40 + " zebracomet " + "🇩🇪" * 80 + "\n")
    (hit,) = notes.hits("zebracomet")
    left, right = hit.snippet.split(" zebracomet ")
    assert left == family * (len(left) // len(family))
    assert right == "🇩🇪" * (len(right) // 2)


def test_a_missing_file_is_dropped(notes: Notes) -> None:
    """A candidate that is gone, or a link, does not disturb the others."""
    notes.write("a.md", "zebracomet\n")
    (notes.root.path / "b.md").symlink_to("a.md")
    gone = Candidate(located=Located(notes.root, "gone.md"))
    link = Candidate(located=Located(notes.root, "b.md"))
    here = Candidate(located=Located(notes.root, "a.md"))
    assert [hit.relative for hit in notes.hits("zebracomet", gone, link, here)] == ["a.md"]


def test_a_region_found_by_meaning_shows_its_beginning(notes: Notes) -> None:
    """Without any word of the query, the vector's region is shown from its first line."""
    place = notes.write("a.md", filler(40))
    (hit,) = notes.hits("unrelated", Candidate(located=place, start_line=11, end_line=30, vector_score=0.9))
    assert hit.start_line <= 11 <= hit.end_line
    assert hit.text_score == 0.0


def test_a_preview_saves_reading_and_changes_nothing(notes: Notes) -> None:
    """With the engine's own text at hand the hits are the same."""
    texts = {f"{name}.md": filler(5) + f"- rocket {name}\n" * at for at, name in enumerate("abcdefgh")}
    places = {name: notes.write(name, text) for name, text in texts.items()}
    plain = [Candidate(located=place, vector_score=0.2) for place in places.values()]
    known = [Candidate(located=place, vector_score=0.2, preview=texts[name]) for name, place in places.items()]
    for count in (1, 3, 8):
        fields = {"max_results": count, "min_score": 0.0}
        assert notes.hits("rocket b", *known, **fields) == notes.hits("rocket b", *plain, **fields)


def test_dates_are_inclusive(notes: Notes) -> None:
    """`after` and `before` keep their own days and drop undated notes."""
    for name in ("2026-01-01", "2026-01-02", "2026-01-03", "undated"):
        notes.write(f"{name}.md", "zebracomet\n")
    hits = notes.hits("zebracomet", after=date(2026, 1, 2), before=date(2026, 1, 3))
    assert {hit.relative for hit in hits} == {"2026-01-02.md", "2026-01-03.md"}


def test_a_spoken_date_prefers_the_notes_of_that_day(notes: Notes) -> None:
    """ "October 13, 2023" names the note of 2023-10-13."""
    for day in ("2023-10-12", "2023-10-13", "2023-10-14"):
        notes.write(f"{day}.md", "- a painting of a sunset\n")
    assert notes.hits("What painting on October 13, 2023?")[0].relative == "2023-10-13.md"


def test_an_empty_file_gives_nothing(notes: Notes) -> None:
    """Zero lines, blank lines and no words are no passages."""
    notes.write("empty.md", "")
    notes.write("blank.md", "\n\n\n")
    assert notes.hits("zebracomet") == []


def test_a_cut_keeps_whole_words(notes: Notes) -> None:
    """A window inside one line begins and ends between words, where such a border is near."""
    words = [f"word{at}" for at in range(900)]
    notes.write("a.md", " ".join([*words[:450], "zebracomet", *words[450:]]) + "\n")
    (hit,) = notes.hits("zebracomet")
    assert hit.partial
    assert set(hit.snippet.split()) <= {"zebracomet", *words}
    assert hit.snippet == hit.snippet.strip()
    assert len(hit.snippet) > 80


@pytest.mark.parametrize("unit", ["ab ", "é", "ab🇩🇪 ", "\u200d", "e\u0301 "], ids=ascii)
def test_a_cut_of_anything_holds_the_word(notes: Notes, unit: str) -> None:
    """With word borders or without, the word that was found is inside the limit."""
    notes.write("a.md", unit * 300 + " zebracomet " + unit * 300 + "\n")
    (hit,) = notes.hits("zebracomet")
    assert "zebracomet" in hit.snippet
    assert len(hit.snippet) <= 120


@pytest.mark.parametrize("max_chars", [1, 2, 3, 8])
def test_a_hit_shows_something_however_little_room_there_is(notes: Notes, max_chars: int) -> None:
    """Where not even one character as a reader sees it has room, there is no hit."""
    lines = ["          far inside", "🇩🇪🇫🇷 flags", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦 families", "word"]
    place = notes.write("a.md", "\n".join(lines))
    known = [Candidate(located=place, start_line=at, end_line=at, vector_score=0.9) for at in range(1, 5)]
    hits = notes.hits("rocket", *known, max_chars=max_chars, min_score=0.0, max_results=20)
    assert hits
    assert all(hit.snippet.strip() and len(hit.snippet) <= max_chars for hit in hits)


@pytest.mark.alone
@pytest.mark.parametrize(
    "text",
    [
        "\n" * 4_000_000 + "zebracomet\n",
        "zebracomet\r" * 300_000,
        "zebracomet " * 300_000,
        "z" * 4_000_000 + " zebracomet",
    ],
    ids=["blank lines", "carriage returns", "one line", "one word"],
)
def test_a_huge_file_costs_little(notes: Notes, text: str) -> None:
    """Only what is around the words is cut: a few times what reading the file once costs, not per line of it."""
    place = notes.write("a.md", text)

    def search() -> None:
        assert assemble([Candidate(located=place)], query, statistics, Ranking()).hits

    statistics = SampleStatistics(1, Counter({"zebracomet": 1}))
    query = Query(text="zebracomet", max_results=6, min_score=0.3, max_chars=700, deadline_at=0.0)
    assert cpu_s(search) < 40 * cpu_s(lambda: text.count("\n") + len(text.lower().replace("\n", " "))) + 0.05


def cpu_s(work: Callable[[], object]) -> float:
    """The least CPU time of this thread that three runs take: the machine is shared."""

    def once() -> float:
        started = time.thread_time()
        work()
        return time.thread_time() - started

    return min(once() for _ in range(3))
