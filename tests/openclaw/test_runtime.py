"""What the host itself asks of its memory, against a real daemon, through its death and its return."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.openclaw.node import needs_node
from tests.openclaw.notes import memory_of
from tests.openclaw.plugin import Plugin, ThrownError, plugin
from tests.running import Running, running, until

pytestmark = needs_node

#: 2026-11-30, a quarter past ten in the evening UTC: on Kiritimati it is the first of December.
EVENING_MS = 1_796_076_900_000


def test_a_search_of_the_host_is_the_operators_and_its_hits_have_the_hosts_shape(asked: Plugin) -> None:
    (hit,) = asked.step(manager="search", args=["when does the boat leave?", {"maxResults": 500, "minScore": -2}])
    assert (hit["path"], hit["source"], hit["originClass"]) == ("MEMORY.md", "memory", "agent")
    assert "provenance" not in hit


def test_a_search_for_a_session_that_may_not_read_is_an_error_and_no_empty_list(asked: Plugin) -> None:
    with pytest.raises(ThrownError, match="default deny"):
        asked.step(manager="search", args=["boat", {"sessionKey": "agent:main:slack:channel:general"}])


def test_the_status_has_what_the_host_shows(asked: Plugin, daemon: Running) -> None:
    status = asked.step(manager="status")
    assert (status["backend"], status["files"], status["dirty"]) == ("builtin", 2, False)
    assert status["custom"]["engine"] == "builtin"
    assert status["workspaceDir"] == daemon.client.status("main")["workspace"]
    assert status["vector"]["available"] is asked.step(manager="probeVectorAvailability")
    assert status["custom"]["searchMode"] == ("hybrid" if status["vector"]["available"] else "fts-only")


def test_the_embedding_provider_is_tried_when_the_host_asks_for_it(asked: Plugin) -> None:
    assert asked.step(manager="probeEmbeddingAvailability")["ok"] is True


def test_a_file_is_read_not_found_or_refused(asked: Plugin) -> None:
    read = asked.step(manager="readFile", args=[{"relPath": "MEMORY.md", "from": 3, "lines": 1}])
    assert (read["status"], read["text"]) == ("ok", "The boat leaves at nine from pier four.")
    gone = asked.step(manager="readFile", args=[{"relPath": "memory/none.md"}])
    assert gone == {"status": "not_found", "path": "memory/none.md", "text": ""}
    with pytest.raises(ThrownError, match="not part of the agent's memory"):
        asked.step(manager="readFile", args=[{"relPath": "/etc/passwd"}])


def test_a_sync_by_hand_ends_when_the_note_can_be_found(asked: Plugin, daemon: Running) -> None:
    note = Path(daemon.client.status("main")["workspace"]) / "memory" / "ferry.md"
    note.write_text("The ferry to Piran takes bicycles.", encoding="utf-8")
    asked.step(manager="sync", args=[{"reason": "cli"}])
    found = asked.step(manager="search", args=["does the ferry take bicycles?"])
    assert "memory/ferry.md" in [hit["path"] for hit in found]


def test_only_curated_files_are_the_agents_own_in_prompts(asked: Plugin) -> None:
    paths = ["USER.md", "MEMORY.md", "memory/../MEMORY.md", "memory/web-clip.md"]
    rows = asked.step(runtime="classifyWorkspaceMemoryPaths", args={"relativePaths": paths})
    assert [row["originClass"] for row in rows] == ["agent", "agent", "untrusted", "untrusted"]


def test_hits_are_left_to_the_sessions_that_may_read_them(asked: Plugin) -> None:
    hits = [{"path": "MEMORY.md", "startLine": 1}, {"path": "memory/gone.md", "startLine": 1}]
    asking = {"agentId": "main", "hits": hits}
    direct = asked.step(runtime="authorizeSearchHits", args={**asking, "requesterSessionKey": "agent:main:main"})
    assert direct == hits[:1]
    group = {**asking, "requesterSessionKey": "agent:main:telegram:group:-1001"}
    assert asked.step(runtime="authorizeSearchHits", args=group) == []


def test_the_host_is_given_no_configuration_of_its_own_providers(asked: Plugin) -> None:
    assert asked.step(runtime="resolveMemoryBackendConfig", args={}) is None


def test_the_prompt_names_the_tools_that_the_agent_has(asked: Plugin) -> None:
    both = "\n".join(asked.step(prompt=["memory_search", "memory_get"]))
    assert "run memory_search" in both and "memory_get" in both and "Citations: include" in both
    assert "memory_search" not in "\n".join(asked.step(prompt=["memory_get"], citationsMode="off"))
    assert asked.step(prompt=["read"]) == []


def test_a_plan_for_flushes_comes_from_the_daemon(asked: Plugin, daemon: Running) -> None:
    resolve = {"nowMs": EVENING_MS, "contextWindowTokens": 200_000}
    plan = until(lambda: asked.step(resolve=resolve), what="the plan")
    told = daemon.call("GET", "/v1/agents/main/memory_flush/plan")
    assert plan["relativePath"] == "memory/2026-12-01.md"
    assert plan["prompt"] == told["prompt"].replace("YYYY-MM-DD", "2026-12-01")
    assert "NO_REPLY" in plan["systemPrompt"]
    numbers = ("reserveTokensFloor", "softThresholdTokens", "forceFlushTranscriptBytes")
    assert {key: plan[key] for key in numbers} == {key: told[key] for key in numbers}


def test_a_small_window_is_not_flushed_by_tokens_and_keeps_room_for_a_prompt(asked: Plugin) -> None:
    told = {"reserveTokensFloor": 20_000, "softThresholdTokens": 4000, "forceFlushTranscriptBytes": 9}
    texts = {"prompt": "", "systemPrompt": "", "targetFile": ""}
    small = asked.step(plan={**told, **texts}, nowMs=0, window=24_000)
    assert (small["reserveTokensFloor"], small["softThresholdTokens"]) == (16_000, 24_000)
    large = asked.step(plan={**told, **texts}, nowMs=0, window=200_000)
    assert (large["reserveTokensFloor"], large["softThresholdTokens"]) == (20_000, 4000)


def test_no_plan_is_no_flush_where_the_daemon_was_never_there_or_flushes_are_off(tmp_path: Path) -> None:
    with plugin(socketPath=str(tmp_path / "none")) as alone:
        assert alone.step(resolve={}) is None


def test_a_daemon_that_dies_is_told_once_and_is_asked_again_when_it_is_back(tmp_path: Path) -> None:
    settings, folder, link = memory_of(tmp_path), tmp_path / "daemon", tmp_path / "s"
    with plugin(socketPath=str(link)) as asked:
        with running(folder, settings) as daemon:
            daemon.sync("main")
            link.symlink_to(daemon.client.path)
            asked.step(watch=10)
            until(lambda: asked.step(logged=True) == ["info memory: qmd-sidecar answers"], what="the first word")
            assert asked.tool("memory_search", query="boat")["results"]
            daemon.stop(9)
            until(lambda: len(asked.step(logged=True)) == 2, what="the word that it is gone")
        with pytest.raises(ThrownError, match="not running"):
            asked.step(manager="status")
        link.unlink()
        with running(folder, settings) as daemon:
            daemon.sync("main")
            link.symlink_to(daemon.client.path)
            until(lambda: len(asked.step(logged=True)) == 3, what="the word that it is back")
            assert asked.tool("memory_search", query="boat")["results"]
            told = asked.step(logged=True)
            assert [line.split(":")[0] for line in told] == ["info memory", "warn memory", "info memory"]
