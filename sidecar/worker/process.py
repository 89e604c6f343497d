"""The daemon's side of the worker: started on first use, restarted with growing pauses, retired when idle."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import logging
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import orjson
import psutil

from backends.base import BackendError, Failure, SyncReport
from backends.builtin import EmbeddingIdentity, EmbeddingSpec, Estimate, IndexJob, QueryVector, Report
from backends.lives import LIVES, End
from exporter import ExportJob
from sidecar.logs.relay import retell
from sidecar.sessions.burying import BuryJob
from sidecar.sessions.scanning import ScanJob

log = logging.getLogger(__name__)

#: A call that gives no sign of life for this long has hung.
SILENCE_S = 120.0
STOP_TIMEOUT_S = 2.0
LONGEST_PAUSE_S = 60.0
MAX_LINE_BYTES = 16 * 2**20
#: What the worker is called among the children.
VERB = "worker"


def _unheard(progress: dict[str, Any]) -> None:
    """Progress is a sign of life, even where nobody wants to know more."""


class Call:
    """One request under way. `alive_at` is the monotonic time of its last sign of life, `report` hears its progress."""

    def __init__(self, alive_at: float, report: Report) -> None:
        self.reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.alive_at = alive_at
        self.report = report


class Worker:
    """One child that indexes and embeds for every agent. Implements `backends.builtin.Writer`.

    `idle_s` without a call retires it; `max_rss_bytes` ends it after the call that went over; a call that gives no
    sign of life for `silence_s` seconds ends it at once.
    """

    def __init__(
        self,
        *,
        idle_s: float = 300.0,
        max_rss_bytes: int = 2**30,
        silence_s: float = SILENCE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._idle_s = idle_s
        self._max_rss_bytes = max_rss_bytes
        self._silence_s = silence_s
        self._clock = clock
        self._ids = itertools.count(1)
        self._calls: dict[int, Call] = {}
        self._child: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        self._starting = asyncio.Lock()
        self._used_at = clock()
        self._pause_s = 0.0
        self._not_before = 0.0
        self._closed = False

    async def index(self, job: IndexJob, report: Report = _unheard) -> SyncReport:
        """Run an index job. Raises `BackendError`, also when the worker dies or falls silent."""
        args = orjson.Fragment(job.to_json())
        return SyncReport(**await self._call("index", args, silence_s=self._silence_s, report=report))

    async def estimate(self, job: IndexJob) -> Estimate:
        """What an index job would have to embed. Raises `BackendError`."""
        args = orjson.Fragment(job.to_json())
        return Estimate(**await self._call("estimate", args, silence_s=self._silence_s))

    async def export(self, job: ExportJob) -> dict[str, Any]:
        """Export an agent's transcripts; the report's counts. Raises `BackendError`."""
        report: dict[str, Any] = await self._call("export", job, silence_s=self._silence_s)
        return report

    async def bury(self, job: BuryJob) -> dict[str, Any]:
        """Decide what is forgotten, and count what the indexes have of it. Raises `BackendError`."""
        buried: dict[str, Any] = await self._call("bury", job, silence_s=self._silence_s)
        return buried

    async def scan(self, job: ScanJob) -> dict[str, Any]:
        """Read files for what must not be in them. Raises `BackendError`."""
        scanned: dict[str, Any] = await self._call("scan", job, silence_s=self._silence_s)
        return scanned

    async def embed_query(self, spec: EmbeddingSpec, text: str) -> QueryVector | None:
        """A query's vector, or None when no semantic model is there. Raises `BackendError`."""
        return _vector(await self._call("embed_query", {"spec": spec, "text": text}, silence_s=self._silence_s))

    async def probe(self, spec: EmbeddingSpec) -> QueryVector | None:
        """The vector of a word of the worker's own, or None when no semantic model is there. Raises `BackendError`."""
        return _vector(await self._call("probe", {"spec": spec}, silence_s=self._silence_s))

    async def _call(self, operation: str, args: Any, *, silence_s: float, report: Report = _unheard) -> Any:
        child = await self._running()
        request_id = next(self._ids)
        call = self._calls[request_id] = Call(self._clock(), report)
        try:
            assert child.stdin is not None
            child.stdin.write(orjson.dumps({"id": request_id, "op": operation, "args": args}) + b"\n")
            return await self._reply(child, call, silence_s)
        finally:
            self._used_at = self._clock()
            del self._calls[request_id]

    async def _reply(self, child: asyncio.subprocess.Process, call: Call, silence_s: float) -> Any:
        while True:
            left_s = call.alive_at + silence_s - self._clock()
            done, _ = await asyncio.wait({call.reply}, timeout=max(0.0, left_s))
            if done:
                self._pause_s = 0.0
                return call.reply.result()
            if self._clock() >= call.alive_at + silence_s:
                _kill(child)
                raise BackendError(Failure.TIMEOUT, f"the worker said nothing for {silence_s:.0f} s")

    async def _running(self) -> asyncio.subprocess.Process:
        async with self._starting:
            if self._closed:
                raise BackendError(Failure.EXITED, "the daemon is stopping")
            if self._child is None or self._child.returncode is not None:
                self._child = await self._spawn()
            return self._child

    async def _spawn(self) -> asyncio.subprocess.Process:
        if self._clock() < self._not_before:
            raise BackendError(Failure.EXITED, "the worker keeps dying; it is given a pause")
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "sidecar.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
            # Its own session: Ctrl-C in the terminal is for the daemon, which then stops the worker in order.
            start_new_session=True,
            limit=MAX_LINE_BYTES,
        )
        LIVES.begin(VERB)
        # Held until the first reply: a worker that dies at once is not respawned in a loop.
        self._pause_s = min(LONGEST_PAUSE_S, self._pause_s * 2 or 1.0)
        self._readers = [asyncio.create_task(self._read_replies(child)), asyncio.create_task(self._read_stderr(child))]
        log.debug("worker started", extra={"fields": {"pid": child.pid}})
        return child

    async def _read_replies(self, child: asyncio.subprocess.Process) -> None:
        assert child.stdout is not None
        with contextlib.suppress(ValueError, ConnectionError):
            while line := await child.stdout.readline():
                self._deliver(orjson.loads(line))
        code = await child.wait()
        LIVES.end(VERB, End.of(code))
        if self._child is child:
            self._child = None
            self._lost(code)

    def _deliver(self, message: dict[str, Any]) -> None:
        call = self._calls.get(message["id"])
        if call is None or call.reply.done():
            return
        call.alive_at = self._clock()
        if "progress" in message:
            call.report(message["progress"])
        elif "result" in message:
            call.reply.set_result(message["result"])
        elif "error" in message:
            error = message["error"]
            failure = Failure(error["failure"])
            call.reply.set_exception(BackendError(failure, error["message"], hint=error["hint"], code=error["code"]))

    def _lost(self, code: int) -> None:
        """The child is gone: fail what waits for it, and hold the next start back."""
        self._not_before = self._clock() + self._pause_s if self._calls else 0.0
        if self._calls:
            log.warning("worker died", extra={"fields": {"exit": code, "calls": len(self._calls)}})
        for call in self._calls.values():
            if not call.reply.done():
                call.reply.set_exception(BackendError(Failure.EXITED, f"the worker died (exit {code})"))

    async def _read_stderr(self, child: asyncio.subprocess.Process) -> None:
        assert child.stderr is not None
        with contextlib.suppress(ValueError, ConnectionError):
            while line := await child.stderr.readline():
                retell(line)

    async def tend(self) -> None:
        """Retire an idle or overgrown worker. Called from time to time."""
        if self._child is None or self._calls:
            return
        if self._clock() - self._used_at >= self._idle_s or self._rss_bytes() > self._max_rss_bytes:
            await self._stop()

    def _rss_bytes(self) -> int:
        if self._child is None:
            return 0
        try:
            return int(psutil.Process(self._child.pid).memory_info().rss)
        except psutil.Error:
            return 0

    def status(self) -> dict[str, Any]:
        """`{state, pid?, rssBytes?, calls}` for operators."""
        if self._child is None:
            return {"state": "stopped", "calls": 0}
        return {
            "state": "busy" if self._calls else "idle",
            "pid": self._child.pid,
            "rssBytes": self._rss_bytes(),
            "calls": len(self._calls),
        }

    async def close(self) -> None:
        """End the worker; calls under way fail. Safe to call twice."""
        self._closed = True
        await self._stop()

    async def _stop(self) -> None:
        child, readers = self._child, self._readers
        if child is None:
            return
        assert child.stdin is not None
        child.stdin.close()
        _, late = await asyncio.wait(readers, timeout=STOP_TIMEOUT_S)
        if late:
            _kill(child)
            await asyncio.wait(readers, timeout=STOP_TIMEOUT_S)


def _vector(reply: dict[str, Any] | None) -> QueryVector | None:
    if reply is None:
        return None
    return QueryVector(base64.b64decode(reply["vector"]), EmbeddingIdentity(**reply["identity"]))


def _kill(child: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        child.kill()
