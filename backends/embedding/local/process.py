"""The model in a child process: started on the first call, started again after a crash, ended when idle or too large.

A crash of llama.cpp, or memory that it takes and keeps, must not reach the worker; and an idle model costs nothing.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import orjson
import psutil

from backends.embedding.base import EmbeddingUnavailableError, Vectors

log = logging.getLogger(__name__)

IDLE_S = 600.0
LOAD_TIMEOUT_S = 120.0
QUERY_TIMEOUT_S = 300.0
BATCH_TIMEOUT_S = 600.0
LONGEST_PAUSE_S = 60.0
#: A batch is lost to at most two children; the second death begins the pauses.
_TRIES = 2
_LOOK_S = 0.5
_STDERR_BYTES = 2048
_ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProgram:
    """What a child runs. `max_rss_bytes` is the resident size at which it is ended."""

    file: Path
    context: int
    pooling: int
    max_rss_bytes: int
    argv: tuple[str, ...] = field(default=(sys.executable, "-m", "backends.embedding.local"))

    def command(self) -> list[str]:
        """The command line."""
        return [*self.argv, str(self.file), str(self.context), str(self.pooling), str(self.max_rss_bytes)]


class DiedError(Exception):
    """The child is gone. `code` is that of the error which a caller sees in the end."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Child:
    """One process with one model, for one caller at a time."""

    def __init__(self, program: ModelProgram) -> None:
        self._program = program
        self._process = subprocess.Popen(
            program.command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(_ROOT), "OPENBLAS_NUM_THREADS": "1"},
            # Ctrl-C in the terminal is for the daemon, which then ends what it started.
            start_new_session=True,
        )
        self._replies: queue.SimpleQueue[Vectors | DiedError] = queue.SimpleQueue()
        self._noise: deque[bytes] = deque(maxlen=_STDERR_BYTES // 256)
        for target in (self._read_replies, self._read_stderr):
            threading.Thread(target=target, daemon=True).start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def rss_bytes(self) -> int:
        """Its resident size, 0 when it is gone."""
        try:
            return int(psutil.Process(self.pid).memory_info().rss)
        except psutil.Error:
            return 0

    def ask(self, texts: Sequence[str], give_up_at: float) -> Vectors:
        """The rows of texts by a monotonic time. Raises `DiedError`; a child that is late or too large is ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(orjson.dumps(texts) + b"\n")
            self._process.stdin.flush()
        except OSError:
            self.end()
            raise DiedError("local_crashed") from None
        return self.answer(give_up_at)

    def answer(self, give_up_at: float) -> Vectors:
        """The next reply. Raises `DiedError`."""
        while True:
            left_s = give_up_at - time.monotonic()
            with contextlib.suppress(queue.Empty):
                reply = self._replies.get(timeout=max(0.0, min(_LOOK_S, left_s)))
                if isinstance(reply, DiedError):
                    self.end()
                    raise reply
                return reply
            if left_s <= 0:
                self._give_up("local_timeout")
            if self.rss_bytes() > self._program.max_rss_bytes:
                self._give_up("local_memory")

    def _give_up(self, code: str) -> None:
        self.end()
        raise DiedError(code)

    def end(self) -> None:
        """Kill it, if it lives, and let go of its pipes."""
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()

    def noise(self) -> str:
        """The last of what it wrote to standard error."""
        return b"".join(self._noise).decode("utf-8", errors="replace")

    def _read_replies(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream, contextlib.suppress(OSError, ValueError):
            while line := stream.readline():
                self._replies.put(_reply(orjson.loads(line), stream))
        self._replies.put(DiedError("local_crashed"))

    def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stream, contextlib.suppress(OSError, ValueError):
            while part := stream.read(256):
                self._noise.append(part)


def _reply(head: dict[str, Any], stream: IO[bytes]) -> Vectors | DiedError:
    if "error" in head:
        return DiedError("local_not_loaded")
    count = head["rows"] * head["dims"]
    rows: Vectors = np.frombuffer(stream.read(4 * count), dtype="<f4").reshape(head["rows"], head["dims"])
    return rows


class ModelProcess:
    """The model of one file, whoever asks: one call at a time, and a question before any document that waits."""

    def __init__(
        self, program: ModelProgram, *, idle_s: float = IDLE_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._program = program
        self._idle_s = idle_s
        self._clock = clock
        self._turn = threading.Condition()
        self._busy = False
        self._questions = 0
        self._child: Child | None = None
        self._deaths = 0
        self._not_before = 0.0
        self._idle: threading.Timer | None = None

    @property
    def child(self) -> Child | None:
        """The child, while the model is loaded."""
        return self._child if self._child is not None and self._child.alive else None

    def rows(self, texts: Sequence[str], *, question: bool = False) -> Vectors:
        """The model's rows for texts. Raises `EmbeddingUnavailableError`, at the latest after its deadline."""
        give_up_at = time.monotonic() + (QUERY_TIMEOUT_S if question else BATCH_TIMEOUT_S)
        with self._my_turn(question, give_up_at):
            return self._tried(texts, give_up_at)

    def close(self) -> None:
        """End the child; the next call starts another."""
        if self._child is not None:
            self._child.end()

    @contextmanager
    def _my_turn(self, question: bool, give_up_at: float) -> Iterator[None]:
        with self._turn:
            self._questions += question
            try:
                free = self._turn.wait_for(
                    lambda: not self._busy and (question or not self._questions), give_up_at - time.monotonic()
                )
            finally:
                self._questions -= question
            if not free:
                self._turn.notify_all()
                raise _unavailable("local_timeout")
            self._busy = True
        try:
            yield
        finally:
            with self._turn:
                self._busy = False
                self._rest()
                self._turn.notify_all()

    def _tried(self, texts: Sequence[str], give_up_at: float) -> Vectors:
        for attempt in range(1, _TRIES + 1):
            try:
                rows = self._running(give_up_at).ask(texts, give_up_at)
            except DiedError as death:
                self._died(death, last=attempt == _TRIES)
                if attempt == _TRIES or death.code in ("local_timeout", "local_not_loaded"):
                    self._hold_back()
                    raise _unavailable(death.code) from None
            else:
                self._deaths = 0
                return rows
        raise AssertionError("a loop of tries ends with a return or a raise")

    def _running(self, give_up_at: float) -> Child:
        if self.child is not None:
            return self.child
        if self._clock() < self._not_before:
            raise _unavailable("local_pausing")
        self.close()
        child = self._child = Child(self._program)
        child.answer(min(give_up_at, time.monotonic() + LOAD_TIMEOUT_S))
        log.debug("local model loaded", extra={"fields": {"pid": child.pid, "rssBytes": child.rss_bytes()}})
        return child

    def _died(self, death: DiedError, *, last: bool) -> None:
        if self._child is not None:
            log.debug("last words of the local model", extra={"fields": {"line": self._child.noise()}})
        # Told once for a batch, when it is given up or the model was lost for the first time.
        if not last:
            log.warning("local model ended", extra={"fields": {"code": death.code}})

    def _hold_back(self) -> None:
        self._deaths += 1
        self._not_before = self._clock() + min(LONGEST_PAUSE_S, 2.0 ** (self._deaths - 1))

    def _rest(self) -> None:
        """Begin to count idle seconds anew."""
        if self._idle is not None:
            self._idle.cancel()
        self._idle = threading.Timer(self._idle_s, self._unload)
        self._idle.daemon = True
        self._idle.start()

    def _unload(self) -> None:
        with self._turn:
            if not self._busy:
                self.close()


_MESSAGES = {
    "local_crashed": ("The local model's process keeps dying.", "Check the model file; see the log."),
    "local_memory": ("The local model takes more memory than it may.", "Take a smaller model for local.modelPath."),
    "local_timeout": ("The local model does not answer in time.", "Take a smaller model for local.modelPath."),
    "local_not_loaded": (
        "The local model cannot be loaded as an embedding model.",
        "Check local.modelPath, or upgrade: pip install -U 'qmd-sidecar[local]'.",
    ),
    "local_pausing": ("The local model failed a moment ago; it is given a pause.", "It is tried again by itself."),
}


def _unavailable(code: str) -> EmbeddingUnavailableError:
    message, hint = _MESSAGES[code]
    return EmbeddingUnavailableError(code, message, hint=hint)


_shared: dict[tuple[Path, str], ModelProcess] = {}
_sharing = threading.Lock()


def shared(program: ModelProgram, version: str) -> ModelProcess:
    """The one process of a model file in this process; `version` tells its contents from those it had before."""
    with _sharing:
        key = (program.file.resolve(), version)
        if key not in _shared:
            _shared[key] = ModelProcess(program)
        return _shared[key]
