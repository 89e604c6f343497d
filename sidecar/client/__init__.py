"""A client of the daemon's Unix socket, on the standard library alone, for threads and for asyncio.

    Client(find()).search("main", query="when does the boat leave?")
    await AsyncClient(find()).search("main", query="when does the boat leave?")

Names that stand in `__all__` are kept; what they need is loaded when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sidecar.client.blocking import Client
from sidecar.client.errors import (
    BadReplyError,
    ClientError,
    DeadlineError,
    NotAllowedError,
    NotRunningError,
    RefusedError,
)
from sidecar.client.finding import find

if TYPE_CHECKING:
    from sidecar.client.asynchronous import AsyncClient

__all__ = [
    "AsyncClient",
    "BadReplyError",
    "Client",
    "ClientError",
    "DeadlineError",
    "NotAllowedError",
    "NotRunningError",
    "RefusedError",
    "find",
]


def __getattr__(name: str) -> Any:
    """The asynchronous client, without which asyncio need not be loaded."""
    if name != "AsyncClient":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sidecar.client.asynchronous import AsyncClient

    return AsyncClient
