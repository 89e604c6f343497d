"""The server itself: the SDK's session on standard input and output, and our tools in it."""

from __future__ import annotations

import os
import signal
from typing import Any

import anyio
from anyio import to_thread
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from sidecar import __version__
from sidecar.cli.exits import VerbError
from sidecar.client import ClientError
from sidecar.mcp import text
from sidecar.mcp.asking import Asker
from sidecar.mcp.tools import INSTRUCTIONS, TOOLS

_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


def run(asker: Asker) -> None:
    """Serve until standard input ends, as it does with the client, or a signal comes."""
    # A thread waits for input and cannot be interrupted, so the default of Python would wait for it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        anyio.run(_serve, asker)
    except* BrokenPipeError:
        pass  # the client reads no more
    # Calls that were given up may still wait for the daemon, and nobody for them.
    os._exit(0)


async def _serve(asker: Asker) -> None:
    server = build(asker)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def build(asker: Asker) -> Server[Any]:
    """The server of one asker."""

    async def list_tools(context: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=listed())

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        return await _answer(asker, params)

    return Server(
        "qmd-sidecar",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def listed() -> list[Tool]:
    """The tools, as a client is told of them."""
    return [
        Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.takes,
            output_schema=tool.answers,
            annotations=_READS,
        )
        for tool in TOOLS.values()
    ]


async def _answer(asker: Asker, params: CallToolRequestParams) -> CallToolResult:
    tool = TOOLS.get(params.name)
    if tool is None:
        raise MCPError(INVALID_PARAMS, f"no such tool; there are {', '.join(TOOLS)}")
    try:
        # The socket has a deadline of its own: a call that is cancelled leaves its thread to it.
        reply = await to_thread.run_sync(tool.call, asker, params.arguments or {}, abandon_on_cancel=True)
    except (ClientError, VerbError) as error:
        return CallToolResult(content=[TextContent(text=text.of_error(error))], is_error=True)
    return CallToolResult(content=[TextContent(text=tool.told(reply))], structured_content=reply)
