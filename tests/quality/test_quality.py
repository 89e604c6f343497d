"""All questions, asked of a real daemon: nothing is found worse than recorded. `make quality` prints the figures."""

from __future__ import annotations

from pathlib import Path

from tests.quality import recorded
from tests.quality.asking import ask_all
from tests.quality.questions import load
from tests.quality.report import table


def test_no_figure_is_worse_than_recorded(tmp_path: Path) -> None:
    """A figure that got better on purpose is recorded anew: `python -m tests.quality --record`."""
    verdicts = ask_all(tmp_path, load())
    print(*table(verdicts), sep="\n")
    assert recorded.worse(recorded.measured(verdicts), recorded.read("builtin")) == []
