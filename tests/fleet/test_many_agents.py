"""Many agents with the real qmd on one daemon: few processes, fresh notes, and a daemon that rests when it may.

Eight of them; `make fleet` has thirty.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from sidecar.scheduler import JITTER_SHARE
from tests.fleet import agents
from tests.fleet.sampling import Samples, sampled
from tests.running import MODEL, Running, real_qmd_path, running, until

AGENTS = int(os.environ.get("FLEET_AGENTS", "8"))
NAMES = [f"a{number}" for number in range(AGENTS)]
MOST_ALIVE = {"mcp": 4, "update": 2, "embed": 1}
INTERVAL_S = 10.0
UPDATE_TIMEOUT_S = 10.0
#: Embeds that have to be seen; each loads a model, and one for each agent would only be more of the same.
EMBEDS = 2
CLIENTS = 4
#: How long the daemon is left alone while its processor time is counted, in seconds.
QUIET_S = 6.0
QUIET_CPU_SHARE = 0.02
RSS_BYTES = 150 * 2**20

pytestmark = [pytest.mark.alone, pytest.mark.real_qmd, pytest.mark.timeout(240)]


@dataclass(frozen=True, slots=True)
class Lived:
    """A fleet after a busy time: where it is kept, what was seen, and how long new notes took to be indexed."""

    folder: Path
    samples: Samples
    engines: list[str]
    wrong: list[str]
    fresh_after_s: dict[str, float]


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lived]:
    """Boot, search for all agents at once, write to every one, and wait for their updates."""
    folder = tmp_path_factory.mktemp("fleet")
    update = {
        "interval": f"{INTERVAL_S:.0f}s",
        "debounceMs": int(INTERVAL_S * 1000),
        "updateTimeoutMs": int(UPDATE_TIMEOUT_S * 1000),
    }
    wanted = agents.config(folder, AGENTS, update=update, limits={"timeoutMs": 10_000})
    with running(folder / "daemon", wanted, path=real_qmd_path()) as daemon, sampled(daemon) as samples:
        until(lambda: all_updated(daemon, since=0), deadline_s=90, what="the first update of every agent")
        replies = search_everywhere(daemon)
        fresh_after_s = write_everywhere(daemon, folder)
    yield Lived(
        folder,
        samples,
        [reply["backend"] for _, reply in replies],
        [name for name, reply in replies if agents.codeword(name) not in str(reply["results"])],
        fresh_after_s,
    )


def all_updated(daemon: Running, *, since: float) -> bool:
    """Whether every agent was updated well after a moment in Unix seconds."""
    facts = agents.qmd_facts(daemon.call("GET", "/v1/status"))
    return all(agents.good_at(one, "lastUpdate") > since for one in facts.values())


def search_everywhere(daemon: Running, rounds: int = 2) -> list[tuple[str, dict[str, Any]]]:
    """Every agent's answer to the question for its own codeword, some clients at a time."""
    asked = list(itertools.chain.from_iterable([NAMES] * rounds))
    with ThreadPoolExecutor(CLIENTS) as clients:
        replies = clients.map(lambda name: daemon.search(name, "what is the codeword of today?"), asked)
        return list(zip(asked, replies, strict=True))


def write_everywhere(daemon: Running, folder: Path) -> dict[str, float]:
    """Write a note for every agent; the seconds until each one's index had it."""
    written_at = time.time()
    for name in NAMES:
        (folder / name / "memory" / "late.md").write_text("The late word is plumfield.\n", encoding="utf-8")
    until(lambda: all_updated(daemon, since=written_at), deadline_s=3 * INTERVAL_S, what="an update of every agent")
    facts = agents.qmd_facts(daemon.call("GET", "/v1/status"))
    return {name: agents.good_at(one, "lastUpdate") - written_at for name, one in facts.items()}


def test_few_processes_serve_many_agents(lived: Lived) -> None:
    """At most four residents and two updates, looked at twenty times a second; and no agent is given another's."""
    assert len(lived.samples.runs["update"]) >= AGENTS
    assert lived.samples.most["mcp"] == MOST_ALIVE["mcp"]
    assert lived.samples.most["update"] <= MOST_ALIVE["update"]
    assert (lived.wrong, len(lived.engines)) == ([], 2 * AGENTS)


def test_every_agent_is_fresh_within_its_interval(lived: Lived) -> None:
    """The interval with its jitter, and the time that one update may take."""
    limit_s = INTERVAL_S * (1 + JITTER_SHARE) + UPDATE_TIMEOUT_S
    assert {name: took_s for name, took_s in lived.fresh_after_s.items() if took_s > limit_s} == {}


def test_an_idle_daemon_is_small_and_quiet(lived: Lived) -> None:
    """Its own memory and processor time, with all agents known and the worker gone."""
    with running(lived.folder / "daemon", agents.config(lived.folder, AGENTS), path=real_qmd_path()) as daemon:
        until(lambda: all_ready(daemon), deadline_s=60, what="the end of the boot")
        search_everywhere(daemon, rounds=1)
        process = psutil.Process(daemon.process.pid)
        retire_worker(process)
        before = process.cpu_times()
        # The length of the measurement, not a wait for anything.
        time.sleep(QUIET_S)
        after = process.cpu_times()
        used_s = after.user + after.system - before.user - before.system
        rss_bytes = process.memory_info().rss
        print(f"own memory {rss_bytes / 2**20:.0f} MB, processor {used_s / QUIET_S:.2%} of one core")
        assert rss_bytes < RSS_BYTES
        assert used_s / QUIET_S < QUIET_CPU_SHARE


def all_ready(daemon: Running) -> bool:
    """Whether nobody is being indexed any more."""
    return all(agent["state"] == "ready" for agent in daemon.call("GET", "/v1/status")["agents"])


def retire_worker(daemon: psutil.Process) -> None:
    """End the worker process, as idleness would in time."""
    for child in daemon.children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if "sidecar.worker" in child.cmdline():
                child.terminate()
                child.wait(10)


@pytest.mark.skipif(not MODEL.exists(), reason="the real model is not here: make qmd")
def test_one_agent_at_a_time_is_embedded(tmp_path: Path) -> None:
    """A real model, with updates and searches of all agents beside it."""
    wanted = agents.config(tmp_path, AGENTS, searchMode="query", limits={"timeoutMs": 10_000})
    daemons = running(tmp_path / "daemon", wanted, path=real_qmd_path(), QMD_EMBED_MODEL=str(MODEL))
    with daemons as daemon, sampled(daemon) as samples:
        until(lambda: all_updated(daemon, since=0), deadline_s=90, what="the first update of every agent")
        search_everywhere(daemon, rounds=1)
        until(lambda: len(samples.runs["embed"]) >= EMBEDS, deadline_s=60, what="some embeds")
    assert all(samples.most[verb] <= most for verb, most in MOST_ALIVE.items()), samples.most
