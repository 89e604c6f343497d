"""`qmd-sidecar` alone."""

from __future__ import annotations

from tests.sidecar.cli.conftest import Run
from tests.sidecar.cli.fake_daemon import FakeDaemon
from tests.sidecar.cli.test_status import NOTICE, agent, fallen_agent, whole

STATUS = ("GET", "/v1/status")


def test_a_daemon_that_is_well_says_what_it_holds_and_what_to_ask(run: Run, daemon: FakeDaemon) -> None:
    """In a few lines."""
    daemon.routes[STATUS] = (200, whole(agent()))
    result = run()
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "qmd-sidecar 0.1.0  ready  pid 4242  up 2h  93 MB",
        "",
        "agents  main: ready",
        "memory  1,200 documents",
        "",
        "next    qmd-sidecar search 'what did we decide?'",
        "help    qmd-sidecar --help",
    ]


def test_of_several_problems_the_worst_is_told(run: Run, daemon: FakeDaemon) -> None:
    """With its remedy; the others are counted."""
    daemon.routes[STATUS] = (200, whole(agent(notices=[NOTICE]), fallen_agent(id="ops"), agent(id="lab")))
    out = run().stdout
    assert len(out.splitlines()) <= 12
    assert "agents  2 ready, 1 degraded\n" in out
    assert "ops: builtin answers instead of qmd" in out
    assert "  try: " in out
    assert "  and 1 more problem\n" in out
    assert "next    qmd-sidecar status\n" in out


def test_what_it_proposes_works_as_it_stands(run: Run, daemon: FakeDaemon) -> None:
    """Among several agents one has to be named, whatever its name."""
    waiting = agent(id="my notes", pending={"files": 2, "oldestSeconds": 3})
    daemon.routes[STATUS] = (200, whole(waiting, agent(id="ops")))
    out = run().stdout
    assert "search -a 'my notes' 'what did we decide?'" in out
    assert "memory  2,400 documents, 2 files not indexed yet\n" in out


def test_no_daemon_is_an_answer(run: Run) -> None:
    """With the exit code that scripts know, and how to start one."""
    result = run()
    assert result.exit_code == 3
    assert result.stdout.startswith("qmd-sidecar is not running (no socket at ")
    assert "start   qmd-sidecar run\n" in result.stdout


def test_the_environment_names_the_daemon(run: Run, daemon: FakeDaemon) -> None:
    """As for every verb."""
    daemon.routes[STATUS] = (200, whole(agent()))
    assert run(SIDECAR_SOCKET="/nowhere.sock").exit_code == 3
    assert run(SIDECAR_SOCKET=str(daemon.path)).exit_code == 0
