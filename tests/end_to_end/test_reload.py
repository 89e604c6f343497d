"""A configuration that changes under the running daemon: followed agent by agent, and refused when it is wrong."""

from __future__ import annotations

import copy
import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from sidecar.client import RefusedError
from tests.running import Running, running, until

Config = dict[str, Any]


def base(folder: Path) -> Config:
    """Two agents with a note each, searched by the built-in engine."""
    for name in ("main", "ops"):
        note(folder, name, "boat.md", f"The boat of {name} leaves at noon.")
    agents = [{"id": name, "workspace": str(folder / name)} for name in ("main", "ops")]
    return {"memory": {"backend": "builtin"}, "agents": {"list": agents}}


def note(folder: Path, agent: str, name: str, text: str) -> None:
    """Write a note of an agent."""
    path = folder / agent / "memory" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One daemon for all of these tests."""
    folder = tmp_path_factory.mktemp("reload")
    with running(folder, base(folder)) as started:
        yield started


@pytest.fixture
def config(daemon: Running) -> Iterator[Config]:
    """The configuration to change; the daemon has the first one again at the end."""
    first = base(daemon.folder)
    yield copy.deepcopy(first)
    reload(daemon, first)
    until(lambda: all("pending" not in agent for agent in daemon.call("GET", "/v1/status")["agents"]), what="the syncs")


def write(daemon: Running, config: Config) -> None:
    """Write the configuration, and nothing else."""
    (daemon.folder / "config.json5").write_text(json.dumps(config), encoding="utf-8")


def reload(daemon: Running, config: Config) -> Any:
    """Write the configuration and have the daemon read it."""
    write(daemon, config)
    return daemon.call("POST", "/v1/reload", {})


def notices(daemon: Running) -> set[str]:
    """The codes of the daemon's own notices."""
    return {notice["code"] for notice in daemon.call("GET", "/v1/status")["notices"]}


def found(daemon: Running, agent: str, query: str) -> list[str]:
    """The paths that a search finds."""
    return [hit["path"] for hit in daemon.search(agent, query)["results"]]


def test_nothing_changed_touches_nobody(daemon: Running, config: Config) -> None:
    """And says so."""
    reply = reload(daemon, config)
    assert (reply["changed"], reply["needsRestart"]) == ([], [])
    assert reply["agents"] == {"added": [], "removed": [], "rebuilt": [], "kept": ["main", "ops"]}


def test_an_agent_comes_is_searched_and_followed_and_goes(daemon: Running, config: Config) -> None:
    """Without a restart, and its index stays when it has gone."""
    note(daemon.folder, "new", "kite.md", "The red kite needs a new tail.")
    config["agents"]["list"].append({"id": "new", "workspace": str(daemon.folder / "new")})
    assert reload(daemon, config)["agents"] == {"added": ["new"], "removed": [], "rebuilt": [], "kept": ["main", "ops"]}
    assert daemon.ready(), "others are answered while the new one is indexed"
    until(lambda: found(daemon, "new", "kite tail") == ["memory/kite.md"], what="the first sync of the new agent")
    note(daemon.folder, "new", "owl.md", "An owl lives in the barn.")
    until(lambda: found(daemon, "new", "owl barn") == ["memory/owl.md"], what="a note that came later")
    config["agents"]["list"].pop()
    assert reload(daemon, config)["agents"]["removed"] == ["new"]
    with pytest.raises(RefusedError) as refused:
        daemon.search("new", "kite")
    assert refused.value.code == "unknown_agent"
    assert (daemon.state / "memory" / "new.sqlite").exists()


def test_a_scope_rule_holds_at_once_and_no_agent_is_made_anew(daemon: Running, config: Config) -> None:
    """What is looked up at every request needs no new engines."""
    config["memory"]["qmd"] = {"scope": {"default": "deny", "rules": []}, "limits": {"maxResults": 1}}
    reply = reload(daemon, config)
    assert reply["agents"]["kept"] == ["main", "ops"]
    assert "memory.qmd.limits.maxResults" in reply["changed"]
    assert daemon.search("main", "boat")["outcome"] == "denied"


def test_only_the_agent_that_differs_is_made_anew(daemon: Running, config: Config) -> None:
    """Its folder is another one; the other agent is not touched."""
    note(daemon.folder, "elsewhere", "lamp.md", "The lamp is broken.")
    config["agents"]["list"][1]["workspace"] = str(daemon.folder / "elsewhere")
    reply = reload(daemon, config)
    assert (reply["agents"]["rebuilt"], reply["agents"]["kept"]) == (["ops"], ["main"])
    assert reply["changed"] == ["agents.ops.workspace"]
    until(lambda: found(daemon, "ops", "broken lamp") == ["memory/lamp.md"], what="the other folder")
    until(lambda: found(daemon, "ops", "boat noon") == [], what="the end of the former folder's notes")
    note(daemon.folder, "main", "sail.md", "The sail was mended.")
    until(lambda: found(daemon, "main", "sail mended") == ["memory/sail.md"], what="a note of the agent that stayed")


@pytest.mark.parametrize(
    "text", ["{ memory: ", '{"memory": {"backnd": "qmd"}}', '{"agents": {"list": [{"id": "a:b"}]}}']
)
def test_what_is_wrong_changes_nothing_and_is_said(daemon: Running, config: Config, text: str) -> None:
    """To whoever asked, and to whoever looks at the status later."""
    (daemon.folder / "config.json5").write_text(text, encoding="utf-8")
    with pytest.raises(RefusedError) as refused:
        daemon.call("POST", "/v1/reload", {})
    assert (refused.value.status, refused.value.code) == (422, "configuration")
    assert "config.json5" in refused.value.details[0]
    assert daemon.search("ops", "boat")["outcome"] == "hits"
    status = daemon.call("GET", "/v1/status")
    assert status["lastReload"]["ok"] is False
    assert notices(daemon) == {"config_invalid"}
    reload(daemon, config)
    assert notices(daemon) == set()


def test_a_hangup_is_a_reload(daemon: Running, config: Config) -> None:
    """As service managers do it; a wrong file ends nobody."""
    write(daemon, {"memory": 1})
    refusals = daemon.log.read_text(encoding="utf-8").count("configuration refused")
    for told in (1, 2):
        # The log is where its operator looks, each time.
        daemon.process.send_signal(signal.SIGHUP)
        until(
            lambda told=told: daemon.log.read_text(encoding="utf-8").count("configuration refused") == refusals + told,
            what="the refusal",
        )
    assert "config_invalid" in notices(daemon)
    config["agents"]["list"].pop()
    write(daemon, config)
    daemon.process.send_signal(signal.SIGHUP)
    until(lambda: [agent["id"] for agent in daemon.client.agents()] == ["main"], what="the agent's end")


def test_what_the_daemon_keeps_for_its_life_waits_for_a_restart(daemon: Running, config: Config) -> None:
    """It goes on at the same socket and in the same folder, and says what has no effect, again and again."""
    config["sidecar"] = {"workers": 3, "log": {"level": "debug"}}
    assert reload(daemon, config)["needsRestart"] == ["sidecar.workers"]
    assert reload(daemon, config)["needsRestart"] == ["sidecar.workers"]
    assert "restart_needed" in notices(daemon)
    assert found(daemon, "ops", "boat noon") == ["memory/boat.md"]


def test_a_file_that_was_written_and_not_read_is_noticed(daemon: Running, config: Config) -> None:
    """The status of a daemon whose configuration is older than the file says so."""
    config["memory"]["citations"] = "off"
    write(daemon, config)
    assert notices(daemon) == {"config_changed"}


def test_searches_are_answered_while_agents_are_made_anew(daemon: Running, config: Config) -> None:
    """Whoever was let in is answered by the agent that let it in."""
    over = Event()

    def ask() -> list[str]:
        outcomes = []
        while not over.is_set():
            outcomes.append(daemon.search("ops", "boat noon")["outcome"])
        return outcomes

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask) for _ in range(4)]
        try:
            for round_ in range(6):
                config["memory"]["qmd"] = {"update": {"interval": f"{round_ + 6}m"}}
                assert reload(daemon, config)["agents"]["rebuilt"] == ["main", "ops"]
        finally:
            over.set()
        outcomes = [outcome for each in asking for outcome in each.result()]
    assert set(outcomes) == {"hits"}


def test_two_reloads_at_once_are_one_after_the_other(daemon: Running, config: Config) -> None:
    """Both are answered, and the second finds nothing to do."""
    config["memory"]["qmd"] = {"update": {"interval": "9m"}}
    write(daemon, config)
    with ThreadPoolExecutor(2) as pool:
        replies = list(pool.map(lambda _: daemon.call("POST", "/v1/reload", {}), range(2)))
    assert sorted(len(reply["agents"]["rebuilt"]) for reply in replies) == [0, 2]


def test_a_sync_under_way_is_answered(daemon: Running, config: Config) -> None:
    """It ends, or is told that the agent was made anew; nobody waits for a sync that is gone."""
    for number in range(400):
        note(daemon.folder, "main", f"many-{number}.md", f"Note {number} about harbours.\n" * 40)
    with ThreadPoolExecutor(1) as pool:
        syncing = pool.submit(daemon.sync, "main", force=True)
        config["memory"]["qmd"] = {"update": {"interval": "11m"}}
        reload(daemon, config)
        reply = syncing.result(60)
    assert reply["reports"] or [notice["code"] for notice in reply["notices"]] == ["exited"]
    until(lambda: "pending" not in daemon.call("GET", "/v1/agents/main/status"), what="the sync of the new agent")
