"""The real qmd behind the socket: isolated per agent, warm, and replaced in time when it dies."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.running import Running, path_without_qmd, processes_of, real_qmd_path, running, until

pytestmark = pytest.mark.real_qmd

WORDS = {"anna": "zebracomet", "ben": "walnutpier", "cleo": "gliderstorm"}


def config(folder: Path) -> dict[str, Any]:
    """Three agents, each with a word of its own in its notes."""
    agents = []
    for agent, word in WORDS.items():
        notes = folder / agent / "memory"
        notes.mkdir(parents=True, exist_ok=True)
        (notes / "2026-02-10.md").write_text(f"# Notes\n\nThe codeword of today is {word}.\n", encoding="utf-8")
        (folder / agent / "MEMORY.md").write_text("# Facts\n\nThe boat leaves at nine.\n", encoding="utf-8")
        agents.append({"id": agent, "workspace": str(folder / agent)})
    # What failed is tried again soon.
    qmd = {"update": {"debounceMs": 1000}}
    return {"memory": {"backend": "qmd", "qmd": qmd}, "agents": {"list": agents}}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One daemon with the real qmd and three agents, all synced."""
    folder = tmp_path_factory.mktemp("qmd")
    with running(folder, config(folder), path=real_qmd_path()) as daemon:
        for agent in WORDS:
            daemon.sync(agent)
        yield daemon


def recovered(daemon: Running, agent: str) -> None:
    """Wait until qmd answers this agent again; a failed sync is tried again after its debounce."""
    until(lambda: daemon.search(agent, "boat")["backend"] == "qmd", deadline_s=90, what="qmd's return")


@pytest.mark.parametrize(("asker", "writer"), list(itertools.product(WORDS, WORDS)))
def test_a_word_is_found_by_the_agent_that_wrote_it_alone(daemon: Running, asker: str, writer: str) -> None:
    """Indexes are as separate as the agents."""
    recovered(daemon, asker)
    reply = daemon.search(asker, f"what is {WORDS[writer]}?")
    assert reply["backend"] == "qmd"
    assert [row["path"] for row in reply["results"]] == (["memory/2026-02-10.md"] if asker == writer else [])


def test_a_question_is_answered_although_qmd_wants_every_word(daemon: Running) -> None:
    """Bare qmd finds nothing for this."""
    recovered(daemon, "anna")
    reply = daemon.search("anna", "what is the codeword of today, please?")
    assert (reply["backend"], reply["outcome"]) == ("qmd", "hits")
    first = reply["results"][0]
    assert (first["path"], first["startLine"] <= 3 <= first["endLine"]) == ("memory/2026-02-10.md", True)


def test_the_doctor_finds_nothing_wrong(daemon: Running) -> None:
    """Also not with qmd's index, whose tables are of an extension that is not loaded."""
    for agent in WORDS:
        recovered(daemon, agent)
    report = daemon.call("POST", "/v1/doctor", {})
    assert [check for check in report["checks"] if check["status"] != "ok"] == []


def test_a_new_file_and_a_removed_one_follow_a_sync(daemon: Running) -> None:
    """qmd's index follows the files."""
    note = daemon.folder / "ben" / "memory" / "2026-03-01.md"
    note.write_text("The spare key lies under the heronstone.\n", encoding="utf-8")
    daemon.sync("ben")
    recovered(daemon, "ben")
    assert daemon.search("ben", "heronstone")["results"][0]["path"] == "memory/2026-03-01.md"
    note.unlink()
    daemon.sync("ben")
    reply = daemon.search("ben", "heronstone")
    assert (reply["backend"], reply["results"]) == ("qmd", [])


def test_killing_qmd_in_the_middle_of_searches_leaves_none_unanswered(daemon: Running) -> None:
    """Every search has a 200 and the right reason; qmd comes back by itself."""
    recovered(daemon, "cleo")
    reasons = set()
    for round_ in range(15):
        if round_ % 3 == 0:
            for process in processes_of(str(daemon.state / "agents")):
                try:
                    process.kill()
                except psutil.NoSuchProcess:
                    continue
        reply = daemon.search("cleo", "what is the codeword of today?")
        assert reply["outcome"] == "hits"
        assert WORDS["cleo"] in reply["results"][0]["snippet"]
        if reply["backend"] != "qmd":
            reasons.add(reply["fallback"]["reason"])
    assert reasons <= {"exited", "timeout"}
    recovered(daemon, "cleo")


def test_killing_the_daemon_leaves_no_process_of_qmd(tmp_path: Path) -> None:
    """Four times, with a resident alive and an update under way."""
    wanted = config(tmp_path)
    for _ in range(4):
        with running(tmp_path, wanted, path=real_qmd_path()) as daemon:
            daemon.call("POST", "/v1/agents/anna/sync", {"force": True})
            daemon.search("anna", "boat")
            daemon.process.kill()
            daemon.process.wait()


def test_without_a_qmd_the_built_in_engine_answers_and_says_why(tmp_path: Path) -> None:
    """`backend: qmd` and no qmd on PATH."""
    with running(tmp_path, config(tmp_path), path=path_without_qmd(tmp_path)) as daemon:
        daemon.sync("anna")
        reply = daemon.search("anna", "what is the codeword of today?")
        assert (reply["backend"], reply["fallback"]["reason"]) == ("builtin", "missing")
        assert WORDS["anna"] in reply["results"][0]["snippet"]


def test_a_qmd_that_is_installed_later_is_used_without_a_restart(tmp_path: Path) -> None:
    """The breaker's probe finds it."""
    path = path_without_qmd(tmp_path)
    with running(tmp_path, config(tmp_path), path=path) as daemon:
        daemon.sync("anna")
        assert daemon.search("anna", "boat")["fallback"]["reason"] == "missing"
        (Path(path) / "node").symlink_to(next((Path(real_qmd_path().split(":")[0])).glob("node")))
        (Path(path) / "qmd").symlink_to(Path(real_qmd_path().split(":")[1]) / "qmd")
        recovered(daemon, "anna")
