"""An engine over time: files come, change and go; it is asked much at once, too late, and after its end."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest

from backends.base import BackendError, Failure
from tests.contract.conftest import Make
from tests.contract.desk import TIMEOUT_S, Desk
from tests.contract.engines import Engine
from tests.contract.notes import DEPLOY, LIBRARY, PETS
from tests.running import processes_of, until


@pytest.fixture(scope="module")
def moving(shared: Make) -> Desk:
    """Notes that tests change on disk without a sync, each its own."""
    return shared(
        {
            "memory/deleted.md": "The heronstone lies by the door.\n",
            "memory/replaced.md": "The storkbridge is made of wood.\n",
            "memory/moved.md": "One.\nTwo.\nThe egretlamp is lit at dusk.\n",
        }
    )


def test_an_answer_says_which_engine_gave_it_and_how(library: Desk, engine: Engine) -> None:
    answer = library.answer("zebracomet")
    assert (answer.engine, answer.via) == (engine.answers, engine.via)
    assert (answer.fallback and answer.fallback.reason) == engine.instead_of


def test_a_deleted_file_is_no_hit_even_before_the_sync(moving: Desk) -> None:
    assert moving.paths("heronstone") == ["memory/deleted.md"]
    (moving.workspace / "memory/deleted.md").unlink()
    assert moving.paths("heronstone") == []


def test_an_edited_file_shows_its_text_of_today(moving: Desk) -> None:
    """Before the sync, too: what no longer stands there is not quoted."""
    moving.write({"memory/replaced.md": "The storkbridge is made of stone.\n"})
    assert moving.best("storkbridge").snippet == "The storkbridge is made of stone."
    moving.write({"memory/replaced.md": "The bridge is made of stone.\n"})
    assert moving.paths("storkbridge") == []


def test_lines_that_moved_are_found_where_they_are(moving: Desk) -> None:
    """A paragraph that somebody put in front moves the passage, and the hit with it."""
    moving.write({"memory/moved.md": "New.\n" * 20 + "One.\nTwo.\nThe egretlamp is lit at dusk.\n"})
    hit = moving.best("egretlamp", max_chars=35)
    assert hit.snippet == "Two.\nThe egretlamp is lit at dusk."
    assert moving.lines(hit.path)[hit.start_line - 1 : hit.end_line] == hit.snippet.split("\n")


def test_a_sync_of_what_did_not_change_does_nothing(library: Desk) -> None:
    report = library.sync()
    assert (report.ran, report.changed, report.removed) == (False, 0, 0)


def test_a_sync_takes_in_what_is_new_and_lets_go_of_what_is_gone(make: Make) -> None:
    desk = make({"MEMORY.md": "Nothing yet.\n", "memory/old.md": "The heronstone lies by the door.\n"})
    desk.write({"memory/new.md": "The storkbridge is made of wood.\n", "MEMORY.md": "The egretlamp is lit.\n"})
    (desk.workspace / "memory/old.md").unlink()
    report = desk.sync()
    assert (report.ran, desk.backend.status().documents) == (True, 2)
    assert [desk.paths(word) for word in ("storkbridge", "egretlamp", "heronstone")] == [
        ["memory/new.md"],
        ["MEMORY.md"],
        [],
    ]


def test_a_forced_sync_runs_although_nothing_changed_and_answers_meanwhile(pair: Desk) -> None:
    report, answers = pair.sync_while_asked("zebracomet", times=4)
    assert report.ran
    assert {hit.path for answer in answers for hit in answer.hits} == {"MEMORY.md"}
    assert pair.paths("zebracomet") == ["MEMORY.md"]


def test_status_names_the_engine_and_counts_the_documents(library: Desk, engine: Engine) -> None:
    library.paths("zebracomet")
    status = library.backend.status()
    assert (status.backend, status.ready, status.documents) == (engine.answers, True, len(LIBRARY))


def test_an_empty_corpus_gives_an_empty_answer(make: Make) -> None:
    """No note is no failure."""
    desk = make({})
    answer = desk.answer("zebracomet")
    assert (answer.hits, answer.partial) == ((), False)


def test_many_questions_at_once_are_answered_as_each_alone(library: Desk) -> None:
    questions = ["zebracomet", "wifi", "who keeps the deploy codeword?", "猫"]
    alone = [library.answer(question).hits for question in questions]
    assert all(alone)
    together = library.answers(questions * 5)
    assert [answer.hits for answer in together] == alone * 5


@pytest.mark.parametrize("timeout_s", [-1.0, 0.001])
def test_too_late_is_said_at_once_or_answered(library: Desk, timeout_s: float) -> None:
    """A deadline that is over, or all but over, is never waited for."""
    began_at = time.monotonic()
    try:
        assert [hit.path for hit in library.answer("zebracomet", timeout_s=timeout_s).hits] == [DEPLOY]
    except BackendError as error:
        assert error.failure is Failure.TIMEOUT
    assert time.monotonic() - began_at < TIMEOUT_S / 4


def test_callers_without_time_spoil_nothing_for_others(library: Desk, engine: Engine) -> None:
    """The next search with time is answered as ever, by the same engine."""
    for _ in range(3):
        with pytest.raises(BackendError):
            library.answer("parakeets", timeout_s=-1.0)
    answer = library.answer("parakeets")
    assert [hit.path for hit in answer.hits] == [PETS]
    assert (answer.engine, answer.via) == (engine.answers, engine.via)


def test_close_ends_everything_and_may_be_repeated(make: Make) -> None:
    """A search that comes behind it fails as one of an engine, or is answered as before; no process stays."""
    desk = make({"MEMORY.md": "The egretlamp is lit.\n"})
    assert desk.paths("egretlamp") == ["MEMORY.md"]
    desk.close()
    desk.close()
    assert _quiet(desk.state)
    with suppress(BackendError):
        assert desk.paths("egretlamp") == ["MEMORY.md"]
    desk.close()
    assert _quiet(desk.state)


def _quiet(state: Path) -> bool:
    """Whether every process that works on this state ends."""
    return bool(until(lambda: not processes_of(str(state)), what="the end of the children"))
