"""What is scored in full: whatever crowds the pool, what has a place in it is there."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date

import pytest

from tests.backends.builtin.conftest import Desk, ToyEmbedder


@pytest.mark.parametrize("name", ["router", "router.md", "projects/Router.md", "memory/projects/router.md"])
def test_a_file_is_found_by_its_name_however_many_mention_it(desk: Desk, name: str) -> None:
    """A note that says the word a hundred times is not the note that is called so."""
    for at in range(120):
        desk.write(f"memory/{at}.md", "router router router\n")
    desk.write("memory/projects/router.md", "The box in the hall blinks.\n" * 40)
    desk.sync()
    assert desk.paths(name)[0] == "memory/projects/router.md"


def test_a_name_in_any_writing_is_found_among_many_mentions(desk: Desk) -> None:
    """Han is written one way; of an accented name the rest of the letters is enough."""
    for at in range(120):
        desk.write(f"memory/{at}.md", "路由器 路由器 café plan, café plan\n")
    desk.write("memory/路由器.md", "blinks\n")
    desk.write("memory/cafe\u0301 plan.md", "blinks\n")
    desk.sync()
    assert desk.paths("路由器")[0] == "memory/路由器.md"
    assert desk.paths("Café plan")[0] == "memory/cafe\u0301 plan.md"


@pytest.mark.parametrize("multiplier", [1, 20])
def test_the_first_of_twenty_are_the_first_of_one(make_desk: Callable[..., Desk], multiplier: int) -> None:
    """However many candidates are asked for, a shorter list looks at as many as a longer one."""
    desk = make_desk(candidate_multiplier=multiplier)
    for at in range(150):
        desk.write(f"memory/a{at}.md", "router router router\n")
        desk.write(f"memory/b{at}.md", "port port port\n")
    desk.write("memory/both.md", "weather and garden\n" * 60 + "router port\n")
    desk.sync()
    twenty = desk.answer("router port", max_results=20).hits
    assert desk.answer("router port", max_results=1).hits == twenty[:1]
    assert desk.answer("router port", max_results=6).hits == twenty[:6]


def test_a_note_of_the_asked_day_is_looked_at_beside_two_full_legs(make_desk: Callable[..., Desk]) -> None:
    """A hundred notes with the words and a hundred more of the same meaning leave it its place."""
    desk = make_desk(ToyEmbedder())
    for at in range(100):
        desk.write(f"memory/a{at}.md", "automobil weather garden kitchen\n")
        desk.write(f"memory/b{at}.md", "vehicl\n")
    desk.write("memory/2023-10-13.md", "Fixed the pump.\n")
    desk.sync()
    found = desk.paths("automobil yesterday", min_score=0.0, max_results=20, today=date(2023, 10, 14))
    assert "memory/2023-10-13.md" in found


def test_days_leave_what_holds_only_the_common_words(make_desk: Callable[..., Desk]) -> None:
    """A rare word that stands on other days alone does not take the place of the words of this day."""
    desk = make_desk(chunk_tokens=8, chunk_overlap=0)
    desk.write("memory/2025-01-01.md", "- deploy server config\n" * 2700)
    desk.write("memory/2025-01-02.md", "- zebra\n- something else of another day\n" * 900)
    desk.write("memory/2026-05-05.md", "deploy server config\n")
    desk.sync()
    assert desk.paths("zebra deploy server config", after=date(2026, 1, 1), min_score=0.0) == ["memory/2026-05-05.md"]


@pytest.mark.alone
def test_a_question_full_of_days_costs_about_its_beginning(desk: Desk) -> None:
    """Only so many of them are looked up, and only in the part of a question that is looked at."""
    desk.write("memory/2026-05-05.md", "deploy\n")
    desk.sync()

    def cost_s(days: int) -> float:
        started = time.process_time()
        assert desk.paths("deploy " + "3 may 2026 " * days, timeout_s=60.0)
        return time.process_time() - started

    assert min(cost_s(40_000) for _ in range(3)) < 60 * min(cost_s(300) for _ in range(3))
