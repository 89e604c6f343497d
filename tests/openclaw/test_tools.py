"""The agent's tools, against a real daemon: what they pass on, what they answer, and that they do not throw."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from tests.openclaw.node import needs_node
from tests.openclaw.plugin import DIRECT, Plugin, ThrownError, plugin
from tests.running import Running, until

pytestmark = needs_node

GROUP = {**DIRECT, "sessionKey": "agent:main:telegram:group:-1001"}
SUBAGENT = {**DIRECT, "sessionKey": "agent:main:subagent:6f2b8a70"}
QUESTION = "when does the boat leave?"


def test_a_search_answers_with_the_fields_of_the_hosts_own_tool(asked: Plugin) -> None:
    answer = asked.tool("memory_search", query=QUESTION)
    (hit,) = answer["results"]
    assert hit["path"] == "MEMORY.md"
    assert hit["snippet"].endswith("Source: MEMORY.md#L1-L3")
    assert hit["citation"] == "MEMORY.md#L1-L3"
    assert {"provider", "model", "mode", "citations"} <= {*answer}
    assert answer["corpora"] == [{"corpus": "memory", "outcome": "ok"}]
    assert "warning" not in answer


def test_the_schemas_forbid_what_the_hosts_own_forbid(asked: Plugin) -> None:
    search, get = asked.step(shape="memory_search"), asked.step(shape="memory_get")
    assert (search["required"], get["required"]) == (["query"], ["path"])
    assert [*search["properties"]] == ["query", "maxResults", "minScore", "corpus"]
    assert [*get["properties"]] == ["path", "from", "lines", "corpus"]
    assert search["additionalProperties"] is get["additionalProperties"] is False


def test_a_note_is_read_and_one_that_is_not_there_is_not_found(asked: Plugin) -> None:
    assert asked.tool("memory_get", path="MEMORY.md", **{"from": 3, "lines": 1}) == {
        "path": "MEMORY.md",
        "text": "The boat leaves at nine from pier four.",
        "from": 3,
        "lines": 1,
        "status": "ok",
    }
    gone = asked.tool("memory_get", path="memory/2020-01-01.md")
    assert gone == {"path": "memory/2020-01-01.md", "text": "", "status": "not_found"}


def test_a_citation_can_be_read_as_it_stands(asked: Plugin) -> None:
    (hit,) = asked.tool("memory_search", query=QUESTION)["results"]
    assert "pier four" in asked.tool("memory_get", path=hit["citation"])["text"]


def test_a_path_outside_is_refused_in_the_daemons_words(asked: Plugin) -> None:
    answer = asked.tool("memory_get", path="../../etc/passwd")
    assert (answer["text"], answer["disabled"]) == ("", True)
    assert answer["error"] == "this path is not part of the agent's memory"


@pytest.mark.parametrize("ctx", [GROUP, SUBAGENT, {"agentId": "main"}], ids=["group", "sub-agent", "without a key"])
def test_who_may_not_read_is_told_so_with_the_rule(asked: Plugin, ctx: dict[str, Any]) -> None:
    found = asked.tool("memory_search", ctx, query=QUESTION)
    assert (found["results"], found["outcome"]) == ([], "denied")
    assert found["denied"]["rule"] in found["warning"]
    assert found["corpora"][0]["outcome"] == "unavailable"
    read = asked.tool("memory_get", ctx, path="MEMORY.md")
    assert (read["text"], "status" in read) == ("", False)
    assert read["denied"]["rule"] in read["error"]


def test_a_sub_agent_reads_what_the_session_may_that_started_it(asked: Plugin) -> None:
    key = "agent:main:subagent:of-main"
    asked.step(spawn=key, by="agent:main:main")
    assert asked.tool("memory_search", {**SUBAGENT, "sessionKey": key}, query=QUESTION)["results"]
    asked.step(spawn=key, by=GROUP["sessionKey"])
    assert asked.tool("memory_search", {**SUBAGENT, "sessionKey": key}, query=QUESTION)["outcome"] == "denied"


def test_who_called_stands_in_the_daemons_log(asked: Plugin, daemon: Running) -> None:
    ctx = {**DIRECT, "sandboxed": True, "senderIsOwner": False, "messageChannel": "web" * 100}
    assert asked.tool("memory_search", ctx, query=QUESTION)["results"]
    facts = '"caller":{"sandboxed":true,"owner":false,"channel":"webweb'
    until(lambda: facts in daemon.log.read_text(encoding="utf-8"), what="the line of the log")


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"query": "  "},
        {"query": 7},
        {"query": "boat", "corpus": "everything"},
        {"query": "boat", "corpus": None},
        {"query": "boat", "maxResults": 0},
        {"query": "boat", "maxResults": 1.5},
        {"query": "boat", "minScore": "high"},
    ],
    ids=str,
)
def test_wrong_arguments_are_named_and_are_no_failure_of_memory(asked: Plugin, args: dict[str, Any]) -> None:
    answer = asked.tool("memory_search", **args)
    assert (answer["results"], "disabled" in answer) == ([], False)
    assert "must be" in answer["error"]


def test_wrong_arguments_of_a_read_are_named(asked: Plugin) -> None:
    assert "path must" in asked.tool("memory_get")["error"]
    assert "from must" in asked.tool("memory_get", path="MEMORY.md", **{"from": -1})["error"]
    assert "corpus must" in asked.tool("memory_get", path="MEMORY.md", corpus="sessions")["error"]


def test_numbers_that_the_host_takes_and_the_daemon_does_not_are_brought_into_its_range(asked: Plugin) -> None:
    assert asked.tool("memory_search", query=QUESTION, maxResults=5000, minScore=-1)["results"]
    assert asked.tool("memory_search", query=QUESTION, minScore=7)["outcome"] == "no_match"


def test_a_question_with_half_a_character_is_searched(asked: Plugin) -> None:
    assert asked.tool("memory_search", query=f"{QUESTION} \ud83d")["results"]


def test_a_wiki_is_said_not_to_be_there(asked: Plugin) -> None:
    assert "not registered" in asked.tool("memory_search", query=QUESTION, corpus="wiki")["warning"]
    everything = asked.tool("memory_search", query=QUESTION, corpus="all")
    assert everything["results"]
    assert everything["corpora"][1] == {"corpus": "wiki", "outcome": "not-registered"}


def test_an_agent_that_the_daemon_does_not_know_is_named_so(asked: Plugin) -> None:
    answer = asked.tool("memory_search", {**DIRECT, "agentId": "worker"}, query=QUESTION)
    assert (answer["unavailable"], answer["reason"]) == (True, "unknown_agent")
    assert "main" in answer["action"]


def test_without_a_daemon_both_tools_say_so_and_how_to_start_it(tmp_path: Path) -> None:
    with plugin(socketPath=str(tmp_path / "none.sock")) as alone:
        found, read = alone.tool("memory_search", query=QUESTION), alone.tool("memory_get", path="MEMORY.md")
    assert (found["results"], found["disabled"], found["unavailable"]) == ([], True, True)
    assert "not running" in found["error"]
    assert found["action"] == read["action"] == "qmd-sidecar run"
    assert (read["text"], read["disabled"]) == ("", True)


def test_a_daemon_that_hangs_is_left_at_the_deadline(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen()
        with plugin(socketPath=str(tmp_path / "s"), timeoutMs=100) as asked:
            assert asked.tool("memory_search", query=QUESTION)["reason"] == "timeout"


def test_a_caller_who_gives_up_gets_its_abort_and_no_answer(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen()
        with plugin(socketPath=str(tmp_path / "s")) as asked, pytest.raises(ThrownError, match="AbortError"):
            asked.step(abandon="memory_search", ctx=DIRECT, args={"query": QUESTION})


def test_something_that_is_not_the_daemon_is_a_bad_reply(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(str(tmp_path / "s"))
        stranger.listen()
        with plugin(socketPath=str(tmp_path / "s")) as asked:
            assert asked.process.stdin is not None
            asked.process.stdin.write('{"tool":"memory_search","ctx":{"agentId":"main"},"args":{"query":"boat"}}\n')
            connection, _ = stranger.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]")
                assert asked.process.stdout is not None
                assert '"bad_reply"' in asked.process.stdout.readline()
