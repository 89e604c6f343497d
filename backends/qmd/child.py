"""Run one child process so that it can neither hang us, flood us, nor outlive us.

A child lives in its own session, talks through bounded pipes and is ended as a tree: TERM to the group,
a short grace, KILL to the group, then KILL to the descendants that had left it. Should this process
itself be killed, a leash (see `_LEASH`) takes the tree down.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil

from backends.lives import LIVES, End

#: Bytes of standard output that are kept; the rest is drained and dropped.
MAX_STDOUT_BYTES = 4 * 1024 * 1024
#: Bytes of standard error that are kept, from the end.
MAX_STDERR_BYTES = 64 * 1024

# The group leader. A watcher blocks on a pipe whose only write end is ours: when we are gone, whatever
# the way, it reads end-of-file and kills the group, itself included. There is no window: the watcher
# holds the pipe before the command starts. The path in /dev/fd is needed because dash knows no
# descriptor above 9. `trap :` (and not `trap ''`, which the command would inherit) keeps the leader
# alive through TERM, so that the command's own status is the one reported.
_LEASH = """
( trap '' TERM INT HUP; read -r _ </dev/fd/{fd}; kill -9 0 ) </dev/null >/dev/null 2>&1 &
watcher=$!
trap : TERM INT HUP
"$@"
status=$?
{{ kill -9 "$watcher"; wait "$watcher"; }} 2>/dev/null
exit "$status"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where a child runs: its complete environment and its working directory, which must exist."""

    environment: Mapping[str, str]
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """What a one-shot child left behind. `status` is the exit status, 128 + n after signal n."""

    status: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    truncated: bool = False


class Child:
    """A running child. `end` must be called, whatever happened; it may be called twice."""

    def __init__(self, transport: asyncio.SubprocessTransport, streams: _Streams, leash: int, verb: str) -> None:
        self._transport = transport
        self._verb = verb
        self._streams = streams
        self._leash = leash
        self.pid = transport.get_pid()

    @classmethod
    async def spawn(
        cls, argv: Sequence[str], surroundings: Surroundings, on_stdout: Callable[[bytes], None], *, stdin: bool = False
    ) -> Self:
        """Start `argv`. Output goes to `on_stdout` as it comes; without `stdin` the child reads /dev/null.

        Raises `OSError` when the shell or the folder is missing; a missing command ends with status 127.
        """
        starting = asyncio.ensure_future(cls._start(argv, surroundings, on_stdout, stdin=stdin))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # A start that is cancelled itself waits until its pipes are closed, which a grandchild may never do.
            await asyncio.wait([starting])
            if starting.exception() is None:
                await starting.result().end()
            raise

    @classmethod
    async def _start(
        cls, argv: Sequence[str], surroundings: Surroundings, on_stdout: Callable[[bytes], None], *, stdin: bool
    ) -> Self:
        """Do it, with nobody who gives up on the way.

        The write end of the leash must stay ours alone: processes that are forked without exec would keep
        it open, so the daemon must start its other children by spawning.
        """
        loop = asyncio.get_running_loop()
        watched, leash = os.pipe()
        try:
            transport, streams = await loop.subprocess_exec(
                lambda: _Streams(on_stdout),
                "/bin/sh",
                "-c",
                _LEASH.format(fd=watched),
                "qmd-leash",
                *argv,
                stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
                env=surroundings.environment,
                cwd=surroundings.folder,
                start_new_session=True,
                pass_fds=(watched,),
            )
        except BaseException:
            os.close(leash)
            raise
        finally:
            os.close(watched)
        verb = argv[1].lstrip("-") if len(argv) > 1 else "none"
        LIVES.begin(verb)
        return cls(transport, streams, leash, verb)

    @property
    def running(self) -> bool:
        """Whether the command has not ended yet."""
        return not self._streams.exited.done()

    @property
    def stderr(self) -> bytes:
        """The last part of standard error so far."""
        return bytes(self._streams.stderr)

    def status(self) -> int:
        """The exit status: 128 + n after signal n; -1 while running."""
        code = self._transport.get_returncode()
        if code is None:
            return -1
        return 128 - code if code < 0 else code

    def step_back(self, niceness: int) -> None:
        """Lower the priority of the whole group. A sandbox that forbids it has limits of its own."""
        if niceness:
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PGRP, self.pid, niceness)

    def write(self, data: bytes) -> None:
        """Send bytes to standard input; lost silently when the child is gone."""
        pipe = self._transport.get_pipe_transport(0)
        if isinstance(pipe, asyncio.WriteTransport) and not pipe.is_closing():
            pipe.write(data)

    def close_stdin(self) -> None:
        """Let the child read end-of-file."""
        pipe = self._transport.get_pipe_transport(0)
        if pipe is not None:
            pipe.close()

    async def exited(self) -> None:
        """Wait for the end of the command, however long it takes."""
        await asyncio.shield(self._streams.exited)

    async def drained(self, *, timeout_s: float) -> None:
        """Wait until both pipes are closed. A grandchild may hold them open for ever, hence the limit."""
        await asyncio.wait([self._streams.closed], timeout=timeout_s)

    def measure(self) -> tuple[int, tuple[int, ...]]:
        """Memory of the whole tree in bytes, and the ids of its processes, the leader first."""
        family = self.family()
        return sum(_rss(process) for process in family), tuple(process.pid for process in family)

    def family(self) -> list[psutil.Process]:
        """The leader and its descendants. Handles remember the create time: a reused pid is never mistaken."""
        try:
            leader = psutil.Process(self.pid)
            return [leader, *leader.children(recursive=True)]
        except psutil.Error:
            return []

    async def end(self, *, grace_s: float = 0.3) -> None:
        """End the whole tree and close every descriptor, within `grace_s` and about two seconds."""
        how = End.ENDED if self.running else End.of(self.status())
        try:
            if self.running:
                family = self.family()
                self._signal(signal.SIGTERM)
                await asyncio.wait([self._streams.exited], timeout=grace_s)
                self._signal(signal.SIGKILL)
                _kill(family)
                await asyncio.wait([self._streams.exited], timeout=2)
            elif self._leash >= 0:
                self._signal(signal.SIGKILL)
        finally:
            self._release(how)

    def _signal(self, number: int) -> None:
        # After the leader is reaped its id names the group only while members are left; that an empty
        # group's id is taken by a new leader within these milliseconds would need a full turn of all pids.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _release(self, how: End) -> None:
        self._transport.close()
        if self._leash >= 0:
            LIVES.end(self._verb, how)
            os.close(self._leash)
            self._leash = -1


class _Streams(asyncio.SubprocessProtocol):
    """Takes what the child writes. `exited` and `closed` are separate: a grandchild can keep the pipes."""

    def __init__(self, on_stdout: Callable[[bytes], None]) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.stderr = bytearray()
        self._on_stdout = on_stdout
        self._open = {1, 2}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._on_stdout(data)
            return
        self.stderr += data
        del self.stderr[:-MAX_STDERR_BYTES]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open and not self.closed.done():
            self.closed.set_result(None)

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)


async def run(
    argv: Sequence[str], surroundings: Surroundings, *, timeout_s: float, grace_s: float = 0.3, niceness: int = 0
) -> Completed:
    """Run `argv` to its end, or for `timeout_s` seconds and then end its tree. Raises `OSError` from spawning."""
    kept = _Kept()
    child = await Child.spawn(argv, surroundings, kept.feed)
    try:
        child.step_back(niceness)
        await asyncio.wait_for(child.exited(), timeout_s)
        await child.drained(timeout_s=0.25)
        timed_out = False
    except TimeoutError:
        timed_out = True
    finally:
        status = child.status()
        await child.end(grace_s=grace_s)
    return Completed(
        status=status, stdout=bytes(kept.data), stderr=child.stderr, timed_out=timed_out, truncated=kept.truncated
    )


class _Kept:
    """The first `MAX_STDOUT_BYTES` of a stream."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.truncated = False

    def feed(self, data: bytes) -> None:
        room = MAX_STDOUT_BYTES - len(self.data)
        self.data += data[:room]
        self.truncated = self.truncated or len(data) > room


def _kill(family: Sequence[psutil.Process]) -> None:
    for process in family:
        with contextlib.suppress(psutil.Error):
            if process.is_running():
                process.kill()


def _rss(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
