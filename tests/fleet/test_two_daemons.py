"""Two daemons of one user share the machine: their embeds never overlap."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.backends.qmd.making import write_model
from tests.fake_qmd import FakeQmd
from tests.fleet import agents
from tests.fleet.sampling import sampled
from tests.running import Running, path_without_qmd, running, until

pytestmark = pytest.mark.alone

AGENTS = 2


def embedded(daemon: Running, since: float) -> bool:
    """Whether every agent of a daemon has its vectors."""
    facts = agents.qmd_facts(daemon.call("GET", "/v1/status"))
    return all(agents.good_at(one, "lastEmbed") > since for one in facts.values())


def test_embeds_of_two_daemons_take_turns(tmp_path: Path) -> None:
    """Lock files in the runtime folder are the queue between them."""
    fake = FakeQmd.install(tmp_path / "fake")
    fake.behave(embed="slow", update="slow")
    model = write_model(tmp_path / "model.gguf")
    shared = tmp_path / "runtime"
    shared.mkdir(mode=0o700)
    environ = {"XDG_RUNTIME_DIR": str(shared), "QMD_EMBED_MODEL": str(model)}
    settings = {"command": str(fake.path), "searchMode": "query", "update": {"onBoot": False}}
    path, started = path_without_qmd(tmp_path), time.time()
    with (
        running(tmp_path / "one", agents.config(tmp_path / "one", AGENTS, **settings), path=path, **environ) as one,
        running(tmp_path / "two", agents.config(tmp_path / "two", AGENTS, **settings), path=path, **environ) as two,
        sampled(one, two) as samples,
    ):
        for daemon in (one, two):
            for number in range(AGENTS):
                daemon.call("POST", f"/v1/agents/a{number}/sync", {"wait": False})
        until(lambda: embedded(one, started) and embedded(two, started), deadline_s=60, what="everybody's vectors")
    assert len(samples.runs["embed"]) == 2 * AGENTS
    assert samples.most["embed"] == 1
    assert samples.most["update"] <= 2
