"""One warm `qmd mcp`, spoken to over its own pipes in newline-delimited JSON-RPC.

It serves one agent and one call at a time: a call that hangs blocks those behind it. So a call that stays
unanswered for too long ends the child; the ones that waited behind it get `GoneError` and may be asked anew.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self

import orjson

from backends.base import BackendError, Failure
from backends.qmd.capabilities import Dialect
from backends.qmd.child import Child, Completed, Surroundings
from backends.qmd.output import failure_of, timed_out

PROTOCOL = "2025-06-18"
MAX_LINE_BYTES = 4 * 1024 * 1024
_START_TIMEOUT_S = 15.0


class GoneError(Exception):
    """The child ended while a call waited. Nothing is known about the call; it may be repeated."""


class Resident:
    """A running `qmd mcp` that has introduced itself.

    `used_at` is monotonic time in seconds, `started_at` Unix time; `calls` were sent so far; `dialect` is how it is
    asked. `rss_bytes` and `pids` of its process tree are as of the last `measure`.
    """

    def __init__(self) -> None:
        self.used_at = time.monotonic()
        self.started_at = time.time()
        self.version = ""
        self.dialect = Dialect.TYPED
        self.calls = 0
        self.rss_bytes = 0
        self.pids: tuple[int, ...] = ()
        self._child: Child | None = None
        self._lines = bytearray()
        self._waiting: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._last_id = 0
        self._ending: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls, argv: Sequence[str], surroundings: Surroundings, *, timeout_s: float = _START_TIMEOUT_S
    ) -> Self:
        """Spawn and introduce ourselves. Raises `BackendError` with the reason why it would not start."""
        resident = cls()
        try:
            resident._child = await Child.spawn(argv, surroundings, resident._feed, stdin=True)
        except OSError as error:
            raise BackendError(Failure.BROKEN_INSTALL, f"qmd could not be started: {error.strerror}.") from error
        resident._watch = asyncio.create_task(resident._until_gone())
        try:
            async with asyncio.timeout(timeout_s):
                await resident._introduce(timeout_s)
        except (TimeoutError, GoneError):
            why = resident._why_not()
            await resident.end()
            raise why from None
        except BaseException:
            await resident.end()
            raise
        return resident

    @property
    def alive(self) -> bool:
        """Whether calls may be sent."""
        return self._child is not None and self._child.running and self._ending is None

    @property
    def pid(self) -> int | None:
        """The id of the process group."""
        return self._child.pid if self._child else None

    @property
    def busy(self) -> bool:
        """Whether a call is under way."""
        return bool(self._waiting)

    def measure(self) -> int:
        """Look at the process tree: its memory in bytes, remembered as `rss_bytes`. Walks the process table."""
        if self._child is not None:
            self.rss_bytes, self.pids = self._child.measure()
        return self.rss_bytes

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, timeout_s: float, hang_s: float
    ) -> Mapping[str, Any]:
        """The `structuredContent` of one tool call.

        The caller waits `timeout_s`; the child is given up when the call is unanswered for `hang_s`, which
        may be longer, so that an impatient caller does not cost everybody a warm process. Raises `GoneError`,
        or `BackendError` (`timeout`, or what the tool's error means).
        """
        self.used_at = time.monotonic()
        self.calls += 1
        result = await self._ask(
            "tools/call", {"name": tool, "arguments": arguments}, timeout_s=timeout_s, hang_s=hang_s
        )
        self.used_at = time.monotonic()
        if result.get("isError"):
            raise _tool_error(result)
        content = result.get("structuredContent")
        if not isinstance(content, dict):
            raise BackendError(Failure.BAD_OUTPUT, "qmd's resident answered without structured content.")
        return content

    async def end(self) -> None:
        """Let it go: end of input first, then the whole tree. Safe to call twice, and by several at once."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end())
        await asyncio.shield(self._ending)

    async def _introduce(self, timeout_s: float) -> None:
        hello = {
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "qmd-sidecar", "version": "1"},
        }
        answer = await self._ask("initialize", hello, timeout_s=timeout_s, hang_s=timeout_s)
        server = answer.get("serverInfo")
        self.version = str(server.get("version", "")) if isinstance(server, dict) else ""
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = (await self._ask("tools/list", {}, timeout_s=timeout_s, hang_s=timeout_s)).get("tools")
        dialect = _dialect_of(tools)
        if dialect is None:
            message = f"qmd {self.version} offers no `query` tool that can do without the reranker."
            raise BackendError(Failure.UNSUPPORTED_FLAGS, message, hint="Update qmd: npm install -g @tobilu/qmd@latest")
        self.dialect = dialect

    async def _ask(
        self, method: str, params: Mapping[str, Any], *, timeout_s: float, hang_s: float
    ) -> Mapping[str, Any]:
        if not self.alive:
            raise GoneError
        loop = asyncio.get_running_loop()
        self._last_id += 1
        number = self._last_id
        reply: asyncio.Future[Mapping[str, Any]] = loop.create_future()
        self._waiting[number] = reply
        hung = loop.call_later(hang_s, self._give_up, number)
        reply.add_done_callback(lambda _: hung.cancel())
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            done, _ = await asyncio.wait({reply}, timeout=timeout_s)
        finally:
            # If nobody reads this reply any more, only the hang timer still watches it.
            reply.add_done_callback(_read_and_forget)
        if not done:
            raise timed_out()
        return reply.result()

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._child is not None
        self._child.write(orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE))

    def _feed(self, data: bytes) -> None:
        self._lines += data
        *lines, rest = self._lines.split(b"\n")
        self._lines = rest
        for line in lines:
            self._receive(line)
        if len(self._lines) > MAX_LINE_BYTES:
            self._lines.clear()
            self._give_up_all()

    def _receive(self, line: bytes | bytearray) -> None:
        if not line.startswith(b"{"):
            return
        try:
            message = orjson.loads(line)
        except orjson.JSONDecodeError:
            return  # native libraries print to standard output, too
        if not isinstance(message, dict):
            return
        number = message.get("id")
        reply = self._waiting.pop(number, None) if isinstance(number, int) else None
        if reply is None or reply.done():
            return
        result = message.get("result")
        if isinstance(result, dict):
            reply.set_result(result)
        else:
            reply.set_exception(BackendError(Failure.BAD_OUTPUT, "qmd's resident refused a call."))

    def _give_up(self, number: int) -> None:
        reply = self._waiting.pop(number, None)
        if reply is not None and not reply.done():
            reply.set_exception(timed_out())
            self._give_up_all()

    def _give_up_all(self) -> None:
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(at_once=True))

    def _release_waiting(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for reply in waiting.values():
            if not reply.done():
                reply.set_exception(GoneError())

    async def _until_gone(self) -> None:
        assert self._child is not None
        await self._child.exited()
        await self._child.drained(timeout_s=0.1)
        self._give_up_all()

    async def _end(self, *, at_once: bool = False) -> None:
        self._release_waiting()
        if self._child is None:
            return
        if not at_once:
            self._child.close_stdin()
            await self._child.drained(timeout_s=0.5)
        await self._child.end(grace_s=0.1)
        if self._watch is not None:
            self._watch.cancel()

    def _why_not(self) -> BackendError:
        assert self._child is not None
        status = self._child.status()
        return failure_of(Completed(status=status, stdout=b"", stderr=self._child.stderr, timed_out=status < 0))


def _tool_error(result: Mapping[str, Any]) -> BackendError:
    """What an error of a tool means. Its text can quote the query, so only known signs are taken from it."""
    content = result.get("content")
    texts = (
        [str(item.get("text", "")) for item in content if isinstance(item, dict)] if isinstance(content, list) else []
    )
    told = failure_of(Completed(status=1, stdout=b"", stderr="\n".join(texts).encode("utf-8", "replace")))
    if told.failure is not Failure.EXITED:
        return told
    return BackendError(Failure.BAD_OUTPUT, "qmd's resident answered with an error.")


def _dialect_of(tools: Any) -> Dialect | None:
    """How these tools are asked: None where every call may load the reranker, or hang for want of it."""
    named = {tool.get("name"): tool for tool in tools if isinstance(tool, dict)} if isinstance(tools, list) else {}
    if "query" in named and '"rerank"' in orjson.dumps(named["query"]).decode():
        return Dialect.TYPED
    return Dialect.WORDS if "search" in named else None


def _read_and_forget(reply: asyncio.Future[Mapping[str, Any]]) -> None:
    if not reply.cancelled():
        reply.exception()
