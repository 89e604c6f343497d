"""The plugin in the real OpenClaw, installed by our own verb, with one gateway and a model that repeats what it reads.

Each command of OpenClaw's takes seconds, so that a test asks for as little as it can.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.openclaw.host import Host, free_port, gateway_settings
from tests.openclaw.model import NAME, QUESTION, Model, model
from tests.openclaw.notes import memory_of
from tests.running import Running, running

pytestmark = [pytest.mark.openclaw, pytest.mark.timeout(600)]

DIRECT = "agent:main:main"
GROUP = "agent:main:telegram:group:-1001"
SUBAGENT = "agent:main:subagent:6f2b8a70-1b2c-4d3e-9f00-000000000001"


@dataclass
class House:
    """A host, its model, and the daemon behind a socket that stays where it is when the daemon is started again."""

    host: Host
    model: Model
    folder: Path
    socket: Path
    running: Running = field(init=False)

    def daemon(self) -> AbstractContextManager[Running]:
        """A daemon over the notes, with the same state each time."""
        return running(self.folder / "daemon", memory_of(self.folder))

    def answer_at(self, daemon: Running) -> None:
        """Let the socket lead to this daemon."""
        self.running = daemon
        self.socket.unlink(missing_ok=True)
        self.socket.symlink_to(daemon.client.path)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A gateway with the plugin, and a daemon."""
    folder = tmp_path_factory.mktemp("house")
    with ExitStack() as stack:
        served = stack.enter_context(model())
        house = House(Host(tmp_path_factory.mktemp("host")), served, folder, folder / "s")
        settings = {**gateway_settings(free_port(), folder / "workspace"), **served.settings()}
        settings["agents"]["defaults"]["model"] = {"primary": NAME}
        house.host.configure(settings)
        house.answer_at(stack.enter_context(house.daemon()))
        house.host.sidecar("install", "--socket", str(house.socket))
        stack.enter_context(house.host.gateway())
        yield house


def test_an_agents_turn_reads_memory_by_the_plugins_tool(house: House) -> None:
    house.host.run("agent", "--agent", "main", "--message", "When does the boat leave?", "--json")
    (read,) = house.model.tool_results()
    assert "The boat leaves at nine from pier four." in read
    assert '"requestId"' in read
    prompt = json.dumps(house.model.requests[0]["messages"][0])
    assert "## Memory Recall" in prompt
    assert "pier four" in prompt, "MEMORY.md is part of the prompt"


def test_the_check_finds_everything_ours(house: House) -> None:
    found = house.host.sidecar("check", "--socket", str(house.socket))["findings"]
    assert [finding for finding in found if finding["ok"] is not True] == []
    assert {"memory_search", "memory_get", "command", "search"} <= {finding["name"] for finding in found}


def test_the_hosts_command_shows_our_status_and_finds_by_us(house: House) -> None:
    (row,) = json.loads(house.host.run("memory", "status", "--json"))
    # The host adds files of its own to the workspace.
    assert (row["agentId"], row["status"]["custom"]["engine"]) == ("main", "builtin")
    assert row["scan"]["totalFiles"] >= row["status"]["files"] >= 2
    found = json.loads(house.host.run("memory", "search", QUESTION, "--json"))
    assert [hit["path"] for hit in found["results"]] == ["MEMORY.md"]


def test_the_hosts_command_brings_the_index_up_to_date(house: House) -> None:
    (house.folder / "workspace" / "memory" / "ferry.md").write_text("The ferry to Piran takes bicycles.")
    assert "updated (main)" in house.host.run("memory", "index")
    assert "takes bicycles" in house.host.run("memory", "search", "ferry bicycles", "--max-results", "1")
    assert "must be a positive integer" in house.host.run("memory", "search", "x", "--max-results", "0", ok=False)


def test_a_search_over_the_gateway_is_ours(house: House) -> None:
    reply = house.host.call("memory.search", query=QUESTION)
    assert reply["results"][0]["citation"] == "MEMORY.md#L1-L3"


def test_a_direct_chat_may_read(house: House) -> None:
    assert house.host.invoke("memory_search", DIRECT, query=QUESTION)["results"]
    assert house.host.invoke("memory_get", DIRECT, path="MEMORY.md")["status"] == "ok"


@pytest.mark.parametrize("session", [GROUP, SUBAGENT])
def test_a_group_and_a_sub_agent_of_nobody_are_denied_with_the_rule(house: House, session: str) -> None:
    answer = house.host.invoke("memory_search", session, query=QUESTION)
    assert (answer["results"], answer["outcome"]) == ([], "denied")
    assert answer["denied"]["rule"] in answer["warning"]


def test_arguments_that_the_gateway_lets_through_are_refused_by_the_tool(house: House) -> None:
    assert "corpus must be one of" in house.host.invoke("memory_search", DIRECT, query="x", corpus="no")["error"]


def test_a_daemon_that_was_killed_is_missed_and_found_again_by_the_same_gateway(house: House) -> None:
    assert house.host.invoke("memory_search", DIRECT, query=QUESTION)["results"]
    house.running.stop(signal.SIGKILL)
    missed = house.host.invoke("memory_search", DIRECT, query=QUESTION)
    assert (missed["disabled"], missed["unavailable"]) == (True, True)
    assert "qmd-sidecar is not running" in missed["error"]
    assert "qmd-sidecar is not running" in house.host.run("memory", "status", ok=False)
    with house.daemon() as second:
        house.answer_at(second)
        assert house.host.invoke("memory_search", DIRECT, query=QUESTION)["results"]


def test_installed_removed_and_installed_again_ends_in_the_same_state(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.configure(gateway_settings(free_port(), tmp_path / "workspace"))
    changes = host.sidecar("install")["changes"]
    first = host.settings()["plugins"]
    assert {change["key"]: change["after"] for change in changes} == {
        "plugins.slots.memory": "qmd-sidecar",
        "plugins.entries.qmd-sidecar.enabled": True,
        "plugins.entries.qmd-sidecar.config.dreaming.enabled": False,
    }
    host.sidecar("uninstall")
    assert "qmd-sidecar" not in json.dumps(host.settings()["plugins"])
    assert not (host.state / "extensions" / "qmd-sidecar").exists()
    # As OpenClaw's own uninstall leaves it.
    host.run("config", "set", "plugins.entries.qmd-sidecar.enabled", "false", "--strict-json")
    host.sidecar("install")
    assert host.settings()["plugins"] == first
    host.run("config", "set", "plugins.entries.qmd-sidecar.config.dreaming.enabled", "true", "--strict-json")
    found = {each["name"]: each for each in host.sidecar("check", exit_code=1)["findings"]}
    assert (found["plugin"]["ok"], found["slot"]["ok"], found["gateway"]["ok"]) == (True, True, None)
    assert found["daemon"]["fix"] == "qmd-sidecar run"
    assert "memory-core" in found["command"]["message"]
    assert "dreaming" in found["command"]["fix"]
