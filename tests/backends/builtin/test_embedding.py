"""What a model does to a sync: texts that it cannot take, numbers that are none, and a table that comes and goes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from backends.base import Mode
from backends.embedding import Vectors
from tests.backends.builtin.conftest import Desk, ToyEmbedder


class Moody(ToyEmbedder):
    """Does to every batch with the word `quicksilver` what its mood says."""

    mood = ""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def embed(self, texts: Any) -> Vectors:
        self.calls += 1
        rows = super().embed(texts)
        bad = [at for at, text in enumerate(texts) if "quicksilver" in text]
        match self.mood:
            case "raises" if bad:
                raise ValueError("quicksilver is poison")
            case "dead":
                raise ConnectionError("nobody there")
            case "short" if bad:
                return rows[:, :10]
            case "nan":
                rows[bad] = np.nan
            case "infinite":
                rows[bad, 0] = np.inf
        return rows


MOODS = {
    "raises": "a part has no vector: the model cannot embed it (ValueError)",
    "short": "a part has no vector: the model cannot embed it (_ShapeError)",
    "nan": "a part has no vector: the model gave no numbers",
    "infinite": "a part has no vector: the model gave no numbers",
}


@pytest.mark.parametrize("mood", MOODS)
def test_a_text_that_the_model_cannot_take_costs_itself_alone(make_desk: Callable[..., Desk], mood: str) -> None:
    """Every other text has its vector; the note is listed, told, found by its words, and tried again."""
    model = Moody()
    model.mood = mood
    desk = make_desk(model)
    for number in range(200):
        desk.write(f"memory/{number}.md", f"note number {number}\n")
    desk.write("memory/bad.md", "quicksilver in the barometer\n")
    report = desk.sync()
    assert report.embedded == 200
    assert dict(report.skipped) == {"memory/bad.md": MOODS[mood]}
    assert desk.backend.status().detail["skipped"] == {"memory/bad.md": MOODS[mood]}
    assert [notice.code for notice in desk.backend.status().notices] == ["embedding_partial"]
    assert desk.paths("barometer", mode=Mode.SEARCH)[0] == "memory/bad.md"
    model.mood = ""
    assert desk.sync().embedded == 1
    status = desk.backend.status()
    assert (status.detail["skipped"], status.notices) == ({}, ())


def test_a_model_that_fails_altogether_is_asked_twice_and_no_more(make_desk: Callable[..., Desk]) -> None:
    """A dead endpoint is not tried with every text; words are there, and the notice says what is missing."""
    model = Moody()
    model.mood = "dead"
    desk = make_desk(model)
    for number in range(200):
        desk.write(f"memory/{number}.md", f"note number {number}\n")
    report = desk.sync()
    assert (report.changed, report.embedded, report.detail) == (200, 0, "embedding_failed")
    assert model.calls == 2
    (notice,) = desk.backend.status().notices
    assert "ConnectionError" in notice.message
    assert "nobody there" not in notice.message
    model.mood = ""
    assert desk.sync().embedded == 200


def test_a_report_tells_which_vectors_were_known(semantic: Desk) -> None:
    """A note that moves keeps its vector, and is no call of a model."""
    semantic.write("memory/a.md", "my car is red\n")
    first = semantic.sync()
    (semantic.workspace / "memory/a.md").unlink()
    semantic.write("memory/b.md", "my car is red\n")
    semantic.write("memory/c.md", "the boat is blue\n")
    second = semantic.sync()
    assert (first.embedded, first.cached) == (1, 0)
    assert (second.embedded, second.cached) == (2, 1)


def test_a_text_without_meaning_matches_nothing(semantic: Desk) -> None:
    """Its zero vector is stored, so that it is not asked for again, and is no hit for any question."""
    semantic.write("memory/dots.md", "... --- ...\n")
    semantic.write("memory/car.md", "my car is red\n")
    assert semantic.sync().embedded == 2
    assert semantic.sync().embedded == 0
    assert semantic.paths("automobile", mode=Mode.VSEARCH, min_score=0.01) == ["memory/car.md"]


def test_sqlite_vec_may_come_and_go_between_runs(make_desk: Callable[..., Desk]) -> None:
    """Without it vectors are searched just the same; when it is back its table holds what was missed."""
    desk = make_desk(ToyEmbedder())
    present: Any = None
    for store, extension in (("vec0", present), ("numpy", "/nonexistent/vec0"), ("vec0", present)):
        desk.reopened(extension_path=extension)
        desk.write(f"memory/{store}{extension is None}{len(list(desk.workspace.rglob('*.md')))}.md", "my car is red\n")
        desk.sync()
        assert len(desk.paths("automobile")) == len(list(desk.workspace.rglob("*.md")))
        assert desk.backend.status().detail["vectorStore"] == store
    with closing(sqlite3.connect(desk.index)) as stock:
        assert stock.execute("SELECT count(*) FROM chunks_vec_rowids").fetchone() == (3,)
