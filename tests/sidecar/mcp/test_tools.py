"""What the three tools answer, asked by the SDK's own client of a real server before a real daemon."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from mcp.client import Client

from sidecar.client import RefusedError
from sidecar.mcp.asking import Asker
from sidecar.mcp.server import listed
from sidecar.mcp.text import of_error
from sidecar.mcp.tools import INSTRUCTIONS, TOOLS
from tests.api.stage import stage
from tests.running import REPOSITORY, Running
from tests.sidecar.mcp import schemas
from tests.sidecar.mcp.session import in_session

INSPECTOR = REPOSITORY / ".inspector" / "node_modules" / ".bin" / "mcp-inspector"
GROUP = "agent:main:telegram:group:1"
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "found": ("memory_search", {"query": "when does the boat leave?", "corpus": "memory"}),
    "nothing": ("memory_search", {"query": "zebra"}),
    "read": ("memory_get", {"path": "memory/2026-02-10.md", "lines": 1}),
    "missing": ("memory_get", {"path": "memory/2020-01-01.md"}),
    "status": ("memory_status", {}),
    "outside": ("memory_get", {"path": "../../etc/passwd"}),
    "huge": ("memory_search", {"query": "boat " * 300_000}),
    "not a number": ("memory_search", {"query": "boat", "maxResults": "many", "minScore": 2}),
    "as somebody else": ("memory_search", {"query": "boat", "sessionKey": "agent:main:main"}),
}


async def _all(client: Client) -> dict[str, Any]:
    """Every call, all of them at once."""
    results = await asyncio.gather(*(client.call_tool(*call) for call in CALLS.values()))
    return {
        **dict(zip(CALLS, results, strict=True)),
        "tools": (await client.list_tools()).tools,
        "told": client.instructions,
    }


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with stage(tmp_path_factory.mktemp("mcp")) as running:
        yield running


@pytest.fixture(scope="module")
def replies(daemon: Running) -> dict[str, Any]:
    return in_session(_all, "--socket", str(daemon.client.path))


def _error(result: Any) -> list[str]:
    assert result.is_error
    assert result.structured_content is None
    return list(result.content[0].text.splitlines())


def test_the_schemas_are_those_of_the_socket() -> None:
    """When this fails: python -m tests.sidecar.mcp.schemas."""
    assert schemas.FILE.read_text(encoding="utf-8") == schemas.text()


def test_a_client_is_told_three_tools_that_only_read(replies: dict[str, Any]) -> None:
    """With what they are for, in the words that agents know, and what they take."""
    tools = {tool.name: tool for tool in replies["tools"]}
    assert replies["tools"] == listed()
    assert {name: list(tool.input_schema["properties"]) for name, tool in tools.items()} == {
        "memory_search": ["query", "maxResults", "minScore", "corpus", "mode", "after", "before"],
        "memory_get": ["path", "from", "lines", "column"],
        "memory_status": [],
    }
    assert tools["memory_search"].description.startswith(
        "Mandatory recall step: semantically search MEMORY.md + memory/*.md"
    )
    assert tools["memory_get"].description.startswith("Safe snippet read from MEMORY.md or memory/*.md")
    assert all(tool.annotations.read_only_hint for tool in tools.values())
    assert replies["told"] == INSTRUCTIONS


def test_a_search_answers_with_passages_to_read_and_to_compute_with(replies: dict[str, Any]) -> None:
    """The same reply as text and as the socket gives it."""
    found = replies["found"]
    (result,) = found.structured_content["results"]
    assert found.content[0].text.splitlines()[:3] == [
        f"memory/2026-02-10.md:1-3  {result['score']:.2f}  builtin",
        "# 2026-02-10",
        "",
    ]
    assert result["snippet"] in found.content[0].text
    assert "debug" not in found.structured_content


def test_a_search_that_finds_nothing_says_so(replies: dict[str, Any]) -> None:
    """An empty list is explained, and is no error."""
    nothing = replies["nothing"]
    assert (nothing.is_error, nothing.structured_content["outcome"]) == (False, "no_match")
    assert nothing.content[0].text.startswith("Nothing relevant")


def test_a_reading_gives_the_lines_and_how_to_go_on(replies: dict[str, Any]) -> None:
    """The line that follows is an argument of the same tool."""
    assert replies["read"].content[0].text == "# 2026-02-10\n\n[There is more: from=2]"
    assert replies["read"].structured_content["nextFrom"] == 2


def test_a_file_that_is_not_there_is_no_error(replies: dict[str, Any]) -> None:
    """Today's note before its first line is an ordinary thing."""
    missing = replies["missing"]
    assert missing.structured_content == {"path": "memory/2020-01-01.md", "text": ""}
    assert missing.content[0].text.startswith("memory/2020-01-01.md does not exist")


def test_the_status_is_that_of_the_agent(replies: dict[str, Any]) -> None:
    """As the command line shows it, without colour."""
    status = replies["status"]
    assert status.structured_content["id"] == "main"
    assert "\x1b" not in status.content[0].text
    assert "3 documents" in status.content[0].text


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("outside", "path_not_allowed"),
        ("huge", "body_too_large"),
        ("not a number", "invalid_request"),
        ("as somebody else", "unknown_argument"),
    ],
)
def test_a_refusal_is_an_error_with_its_code_and_the_next_step(replies: dict[str, Any], call: str, code: str) -> None:
    """The model never says who asks; that and everything else is refused in two lines or more, none twice."""
    lines = _error(replies[call])
    assert lines[0].startswith(f"{code}: ")
    assert lines[-1].startswith("next step: ")
    assert len({*lines}) == len(lines)


def test_with_a_session_key_its_scope_holds(daemon: Running) -> None:
    """A denial is an answer where there is a shape for it; the status tells a denied session nothing."""

    async def denied(client: Client) -> list[Any]:
        calls = (CALLS["found"], CALLS["read"], CALLS["status"])
        return [await client.call_tool(*call) for call in calls]

    search, reading, status = in_session(denied, "--socket", str(daemon.client.path), "--session-key", GROUP)
    assert (search.structured_content["outcome"], search.structured_content["results"]) == ("denied", [])
    assert (reading.structured_content["outcome"], reading.structured_content["text"]) == ("denied", "")
    assert search.content[0].text.startswith("Denied by scope: telegram group")
    assert _error(status)[0].startswith("denied: ")


def test_an_agent_that_is_not_there_is_an_error_that_names_the_nearest(daemon: Running) -> None:
    """As everywhere else."""
    with pytest.raises(RefusedError) as refused:
        TOOLS["memory_search"].call(Asker(lambda: daemon.client, agent="mian"), {"query": "boat"})
    assert of_error(refused.value) == "unknown_agent: no agent of that id\nnext step: did you mean 'main'?"


def test_the_inspector_lists_the_tools(daemon: Running) -> None:
    """The protocol's own tool for looking at servers."""
    if not INSPECTOR.exists():
        pytest.skip("the MCP inspector is not here: make mcp-inspector")
    server = [sys.executable, "-m", "sidecar", "mcp", "--socket", str(daemon.client.path)]
    command = [str(INSPECTOR), "--cli", *server, "--method", "tools/list"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=100)
    assert [tool["name"] for tool in json.loads(done.stdout)["tools"]] == [*TOOLS]
