"""A session with the server through the SDK's own client, which holds each reply to the schema that it was told."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

Answer = TypeVar("Answer")
DEADLINE_S = 60.0


def in_session(talk: Callable[[Client], Awaitable[Answer]], *flags: str, env: dict[str, str] | None = None) -> Answer:
    """What `talk` returns of a session with `qmd-sidecar mcp` and these flags."""

    async def session() -> Answer:
        server = StdioServerParameters(command=sys.executable, args=["-m", "sidecar", "mcp", *flags], env=env)
        async with asyncio.timeout(DEADLINE_S), Client(stdio_client(server)) as client:
            return await talk(client)

    return asyncio.run(session())
