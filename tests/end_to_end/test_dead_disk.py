"""A workspace on a disk that answers nobody is one agent's trouble, and never the daemon's."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.dead_disk import dead
from tests.running import Running, path_without_qmd, running, until

#: Of every request that is to be answered although a disk hangs: far below what a search that hangs would take.
DEADLINE_S = 20.0
CALLERS = 8


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Two agents; the disk of one of them is dead from when both have been indexed."""
    folder = tmp_path_factory.mktemp("dead")
    for name in ("well", "dead"):
        (folder / name).mkdir()
        (folder / name / "MEMORY.md").write_text("The boat leaves at noon.\n", encoding="utf-8")
    agents = [{"id": name, "workspace": str(folder / name)} for name in ("well", "dead")]
    config = {"memory": {"backend": "builtin"}, "agents": {"list": agents}}
    with running(folder, config, path=path_without_qmd(folder)) as daemon:
        until(daemon.ready)
        for name in ("well", "dead"):
            daemon.sync(name)
        with dead(folder / "dead"):
            yield daemon


def _search(daemon: Running, agent: str) -> str:
    return str(daemon.search(agent, "boat", timeoutMs=500)["outcome"])


@pytest.mark.timeout(120)
def test_nobody_else_waits_for_it(daemon: Running) -> None:
    """Supervisors, scrapers and the searches of other agents are answered while callers hang on the dead one."""
    with ThreadPoolExecutor(CALLERS) as callers:
        hanging = [callers.submit(_search, daemon, "dead") for _ in range(CALLERS)]
        assert daemon.call("GET", "/livez") == {"alive": True}
        assert daemon.ready()
        assert [agent["id"] for agent in daemon.call("GET", "/v1/status")["agents"]] == ["well", "dead"]
        assert daemon.client.metrics()
        assert {each.result(DEADLINE_S) for each in hanging} == {"unavailable"}
    assert _search(daemon, "well") == "hits"


@pytest.mark.timeout(120)
def test_the_status_names_the_disk(daemon: Running) -> None:
    """The files of the agent may be as they were: missing it is not."""

    def told() -> set[str]:
        status = daemon.call("GET", "/v1/agents/dead/status")
        return {notice["code"] for notice in status["notices"]}

    assert "workspace_missing" not in told()
    until(lambda: "workspace_silent" in told())
    assert "workspace_silent" in {notice["code"] for notice in daemon.search("dead", "boat", timeoutMs=500)["notices"]}


@pytest.mark.timeout(120)
def test_the_daemon_ends_although_a_reload_hangs_on_it(daemon: Running) -> None:
    """The last test: whatever looks at the disk is left behind."""
    daemon.process.send_signal(signal.SIGHUP)
    for _ in range(2):
        # The loop has come round.
        daemon.call("GET", "/livez")
    assert daemon.stop() == 0
