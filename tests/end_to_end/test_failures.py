"""Every way in which a qmd can fail, seen from the socket: an answer in time, and the right reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake_qmd import FakeQmd
from tests.running import Running, path_without_qmd, running, until

TIMEOUT_MS = 1500
#: What the fake does, in both of its ways of answering, and the reason that the caller must read.
FAILURES = [
    ("hang", "timeout"),
    ("exit", "exited"),
    ("garbage", "bad_output"),
    ("flood", "bad_output"),
    ("locked", "locked"),
    ("abi", "broken_install"),
    ("truncated", "bad_output"),
    ("damaged", "index_lost"),
]
#: Odd output that still is an answer.
ANSWERS = ["crash_after", "noise"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, FakeQmd]]:
    """A daemon that has already been answered by its fake qmd."""
    folder = tmp_path_factory.mktemp("failures")
    fake = FakeQmd.install(folder / "fake")
    notes = folder / "workspace" / "memory"
    notes.mkdir(parents=True)
    (notes / "a.md").write_text("The boat to Corvo leaves at nine.\n", encoding="utf-8")
    config = {
        "memory": {"backend": "qmd", "qmd": {"command": str(fake.path), "limits": {"timeoutMs": TIMEOUT_MS}}},
        "agents": {"defaults": {"workspace": str(notes.parent)}},
    }
    with running(folder / "daemon", config, path=path_without_qmd(folder)) as daemon:
        daemon.sync("main")
        yield daemon, fake


@pytest.fixture
def fake(served: tuple[Running, FakeQmd]) -> Iterator[FakeQmd]:
    """The fake qmd, honest until told otherwise."""
    _, fake = served
    yield fake
    fake.behave()


@pytest.fixture
def daemon(served: tuple[Running, FakeQmd]) -> Running:
    """The daemon, answered by an honest fake: the failures of the test before are behind it."""
    daemon, _ = served
    until(lambda: daemon.search("main", "boat")["backend"] == "qmd", what="the fake's answer")
    return daemon


@pytest.mark.alone
@pytest.mark.parametrize(("behaviour", "reason"), FAILURES)
def test_a_failing_qmd_is_replaced_in_time_and_used_again_when_honest(
    daemon: Running, fake: FakeQmd, behaviour: str, reason: str
) -> None:
    """No search without an answer; no restart afterwards."""
    # A resident that cannot start leaves the command line, whose output can be cut in half.
    fake.behave(search=behaviour, query=behaviour, mcp="exit" if behaviour == "truncated" else behaviour)
    for _ in range(3):
        reply = daemon.search("main", "when does the boat leave?")
        assert reply["tookMs"] < TIMEOUT_MS + 100
        assert reply["outcome"] == "hits"
        assert reply["backend"] == "builtin"
        assert reply["fallback"]["from"] == "qmd"
        assert reply["fallback"]["reason"] == reason
    status = daemon.call("GET", "/v1/agents/main/status")
    assert (status["state"], status["fallback"]["reason"]) == ("degraded", reason)
    fake.behave()
    until(lambda: daemon.search("main", "boat")["backend"] == "qmd", what="the return of the fake")
    assert daemon.call("GET", "/v1/agents/main/status")["backend"] == "qmd"


@pytest.mark.parametrize("behaviour", ANSWERS)
def test_an_odd_answer_is_still_an_answer(daemon: Running, fake: FakeQmd, behaviour: str) -> None:
    """Noise around JSON and a crash after it lose nothing."""
    fake.behave(search=behaviour, query=behaviour, mcp=behaviour)
    reply = daemon.search("main", "when does the boat leave?")
    assert (reply["outcome"], reply["backend"]) == ("hits", "qmd")


def test_with_fallback_none_a_failing_qmd_is_unavailable_and_nothing_else_is_built(tmp_path: Path) -> None:
    """Failing closed, on purpose."""
    fake = FakeQmd.install(tmp_path / "fake")
    (tmp_path / "workspace" / "memory").mkdir(parents=True)
    fake.behave(search="exit", query="exit", mcp="exit")
    config = {
        "memory": {"backend": "qmd", "fallback": "none", "qmd": {"command": str(fake.path)}},
        "agents": {"defaults": {"workspace": str(tmp_path / "workspace")}},
    }
    with running(tmp_path / "daemon", config, path=path_without_qmd(tmp_path), wait=False) as daemon:
        until(lambda: daemon.client.path.exists())
        daemon.sync("main")
        reply = daemon.search("main", "boat")
        assert (reply["outcome"], reply["reason"], reply["results"]) == ("unavailable", "exited", [])
        assert not list(daemon.state.rglob("memory/*.sqlite"))
