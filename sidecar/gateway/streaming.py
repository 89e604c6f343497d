"""A reply that goes on: one JSON object a line, for as long as the client listens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import orjson
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

LINES = "application/x-ndjson"


class Lines(StreamingResponse):
    """`rows` as lines. Each of `held` is entered before the reply begins, and left when the client is gone.

    What entering raises refuses the request.
    """

    def __init__(self, rows: AsyncIterator[Any], *held: AbstractContextManager[None]) -> None:
        super().__init__(_encoded(rows), media_type=LINES)
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it all; a HEAD gets the head alone."""
        if scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await send({"type": "http.response.body"})
            return
        with ExitStack() as stack:
            for each in self._held:
                stack.enter_context(each)
            await super().__call__(scope, receive, send)


async def _encoded(rows: AsyncIterator[Any]) -> AsyncIterator[bytes]:
    async for row in rows:
        yield orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
