"""What counts as a problem, and how it is told."""

from __future__ import annotations

import datetime as dt
from typing import Any

from sidecar.wording.problems import Problem, gathered, of_agent, of_daemon, told
from sidecar.wording.terminal import Style

NOW = dt.datetime(2026, 11, 29, 12, 0, tzinfo=dt.UTC)
T = NOW.timestamp()
FALLBACK = {"from": "qmd", "reason": "missing", "since": T - 60}
ERROR = {"code": "missing", "message": "qmd was not found on PATH.", "action": "npm install", "at": T - 5}


def lines(problem: Problem, width: int | None = None) -> list[str]:
    """The problem without colour."""
    return told(problem, NOW, Style(False), width=width)


def agent(**facts: Any) -> dict[str, Any]:
    """An agent with nothing but these facts."""
    return {"id": "main", "backend": "builtin", "engines": {}} | facts


def test_a_healthy_agent_has_no_problems() -> None:
    """Silence is the good news."""
    assert of_agent(agent(engines={"qmd": {"ready": True, "held": [], "skipped": {}}})) == []


def test_a_failed_sync_that_the_fallback_already_explains_is_told_once() -> None:
    """One cause, one line."""
    facts = agent(fallback=FALLBACK, engines={"qmd": {"lastError": ERROR}})
    assert [problem.text for problem in of_agent(facts)] == [
        "builtin answers instead of qmd: qmd was not found on PATH"
    ]


def test_a_failed_sync_comes_with_the_engines_own_advice() -> None:
    """The engine knows best; the class of failure has advice where it is silent."""
    (problem,) = of_agent(agent(engines={"qmd": {"lastError": ERROR}}))
    assert lines(problem) == [
        "▲ main: qmd could not be brought up to date: qmd was not found on PATH. (5s ago)",
        "  try: npm install",
    ]
    (silent,) = of_agent(agent(engines={"qmd": {"lastError": {"code": "index_lost", "action": ""}}}))
    assert lines(silent)[1] == "  try: qmd-sidecar sync main --force"


def test_a_qmd_that_was_only_wanted_if_present_may_be_missing() -> None:
    """With `auto` and no qmd installed nothing is wrong; a broken one is."""
    breaker = {"of": "qmd", "state": "open", "optional": True, "reason": "missing"}
    assert of_agent(agent(breaker=breaker, engines={"qmd": {"lastError": ERROR}})) == []
    broken = ERROR | {"code": "broken_install"}
    assert len(of_agent(agent(breaker=breaker, engines={"qmd": {"lastError": broken}}))) == 1
    fallen = {"from": "qmd", "reason": "missing", "since": T}
    assert of_agent(agent(breaker=breaker, fallback=fallen)) == []
    assert len(of_agent(agent(breaker=breaker | {"optional": False}, fallback=fallen))) == 1


def test_an_agent_that_nothing_answers_for_is_a_problem_even_without_an_error() -> None:
    """A red row without a line below it would leave the operator alone."""
    (problem,) = of_agent(agent(state="unavailable"))
    assert lines(problem) == ["▲ main: no engine can answer", "  try: qmd-sidecar sync main --wait"]
    assert len(of_agent(agent(state="unavailable", engines={"qmd": {"lastError": ERROR}}))) == 1


def test_held_folders_are_told_unless_a_notice_does() -> None:
    """The guard of an index is not an accident, but somebody has to decide."""
    vault = {"name": "vault", "reason": "missing", "since": T - 60, "filesLeft": 0}
    held = {"qmd": {"held": [vault, {"name": "notes", "reason": "shrunk", "since": T, "filesLeft": 12}]}}
    (problem,) = of_agent(agent(engines=held))
    assert problem.text == "updates are held back for vault (missing), notes (shrunk, 12 files left)"
    assert "sync main --force" in lines(problem)[1]
    notice = {"code": "source_missing", "message": "The folder of vault is missing.", "action": "Bring it back."}
    assert [found.text for found in of_agent(agent(engines=held, notices=[notice]))] == [notice["message"]]


def test_many_skipped_files_stay_one_line() -> None:
    """A few names, and how many more."""
    skipped = {f"{number}.md": "not UTF-8" for number in range(9)}
    (problem,) = of_agent(agent(engines={"builtin": {"skipped": skipped}}))
    assert problem.text == ("builtin skipped 9 files: 0.md (not UTF-8), 1.md (not UTF-8), 2.md (not UTF-8) and 6 more")


def test_thirty_agents_with_one_trouble_are_one_problem() -> None:
    """It began with the first of them, and the next probe of any may end it."""
    agents = [
        agent(id=f"a{number}", fallback=FALLBACK | {"since": T - number * 60}, breaker={"nextProbeAt": T + 90 + number})
        for number in range(1, 31)
    ]
    (problem,) = of_daemon({"agents": agents})
    assert lines(problem)[0] == (
        "▲ a1, a2, a3 and 27 more: builtin answers instead of qmd: "
        "qmd was not found on PATH (for 30m, next probe in 1m)"
    )


def test_a_remedy_names_the_agents_it_is_for() -> None:
    """Quoted for the shell, and in general words when they are many."""
    few = Problem(text="x", remedy="qmd-sidecar sync {agents}", agents=("main", "my notes"))
    assert lines(few)[1] == "  try: qmd-sidecar sync main 'my notes'"
    many = Problem(text="x", remedy="qmd-sidecar sync {agents}", agents=tuple("abcdef"))
    assert lines(many)[1] == "  try: qmd-sidecar sync AGENT"


def test_the_gravest_problems_come_first() -> None:
    """Of all agents: first what does not answer, last what was merely skipped; the daemon's own at the end."""
    skipping = agent(id="a", engines={"builtin": {"skipped": {"x.md": "empty"}}})
    fallen = agent(id="b", fallback=FALLBACK)
    found = of_daemon({"agents": [skipping, fallen], "notices": [{"message": "unused key"}]})
    assert [problem.agents for problem in found] == [("b",), ("a",), ()]


def test_a_long_problem_is_wrapped_and_its_remedy_is_not() -> None:
    """A command that is broken across lines cannot be pasted."""
    problem = Problem(text="word " * 40, remedy="qmd-sidecar " + "x" * 100)
    told_lines = lines(problem, width=60)
    assert all(len(line) <= 60 for line in told_lines[:-1])
    assert told_lines[-1] == f"  try: qmd-sidecar {'x' * 100}"


def test_a_probe_that_is_due_is_not_announced() -> None:
    """Nobody can act on "in 0s"."""
    assert lines(Problem(text="x", since=T - 5, next_probe_at=T + 0.4)) == ["▲ x (for 5s)"]
    assert lines(Problem(text="x", since=T - 5, next_probe_at=T + 1.4)) == ["▲ x (for 5s, next probe in 1s)"]


def test_problems_without_anything_in_common_stay_apart() -> None:
    """Only the same text with the same remedy is gathered."""
    apart = [Problem(text="x", agents=("a",)), Problem(text="y", agents=("a",)), Problem(text="x", agents=("b",))]
    assert [problem.agents for problem in gathered(apart)] == [("a", "b"), ("a",)]
