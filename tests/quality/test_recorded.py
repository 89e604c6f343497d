"""What must not get worse."""

from __future__ import annotations

from pathlib import Path

from tests.quality import recorded

BEFORE = {"total MRR": 0.8, "total false answers": 0.5}


def test_a_figure_that_fell_has_a_line() -> None:
    """With both values."""
    assert recorded.worse({**BEFORE, "total MRR": 0.79}, BEFORE) == ["total MRR: 0.7900, recorded 0.8000"]


def test_more_false_answers_are_worse_and_fewer_are_not() -> None:
    """The one figure of which less is better."""
    assert recorded.worse({**BEFORE, "total false answers": 0.6}, BEFORE)
    assert not recorded.worse({**BEFORE, "total false answers": 0.4}, BEFORE)


def test_a_figure_that_rose_or_hardly_fell_has_none() -> None:
    """The tolerance is half a percent."""
    assert recorded.worse({"total MRR": 0.796, "total false answers": 0.504}, BEFORE) == []
    assert recorded.worse({**BEFORE, "total MRR": 0.9}, BEFORE) == []


def test_a_figure_that_only_one_side_has_is_told() -> None:
    """A new kind of question must be recorded, and none may vanish unseen."""
    assert recorded.worse({**BEFORE, "kind new recall@6": 1.0}, BEFORE) == ["kind new recall@6: 1.0000, not recorded"]
    assert recorded.worse({"total MRR": 0.8}, BEFORE) == ["total false answers: not measured, recorded 0.5000"]


def test_recording_one_engine_keeps_the_figures_of_another(tmp_path: Path) -> None:
    """They are recorded one at a time."""
    file = tmp_path / "recorded.json"
    recorded.write("qmd", BEFORE, file)
    recorded.write("builtin", {"total MRR": 0.9}, file)
    assert (recorded.read("qmd", file), recorded.read("builtin", file)) == (BEFORE, {"total MRR": 0.9})
