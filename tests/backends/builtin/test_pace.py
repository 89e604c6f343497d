"""How fast a long job goes."""

from __future__ import annotations

from collections.abc import Iterator

from backends.builtin.pace import Pace


def told(*moments: float) -> Iterator[float]:
    """A pace whose clock shows these moments."""
    return iter(moments)


def test_the_pace_is_that_since_the_first_report_of_a_phase() -> None:
    """What was done before it began to report took no time that is known."""
    moments = told(100.0, 102.0, 104.0)
    pace = Pace(lambda: next(moments))
    reports = [{"phase": "vectors", "done": done, "total": 1000} for done in (500, 520, 600)]
    assert [pace.timed(report).get("perSecond") for report in reports] == [None, 10.0, 25.0]


def test_another_phase_has_a_pace_of_its_own() -> None:
    """Files and vectors are not counted alike."""
    moments = told(0.0, 1.0, 2.0, 4.0)
    pace = Pace(lambda: next(moments))
    phases = [("files", 10), ("files", 30), ("vectors", 0), ("vectors", 8)]
    paces = [pace.timed({"phase": phase, "done": done, "total": 90}).get("perSecond") for phase, done in phases]
    assert paces == [None, 20.0, None, 4.0]


def test_what_counts_nothing_has_no_pace() -> None:
    """Waiting, for one; and a clock that stands still divides nothing."""
    pace = Pace(lambda: 1.0)
    reports = [{"phase": "waiting"}, {"phase": "waiting"}, {"phase": "files", "done": 1}, {"phase": "files", "done": 2}]
    assert [pace.timed(report) for report in reports] == reports
