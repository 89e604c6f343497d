"""The worker's side: read a request a line, answer a line. Ends when its standard input does.

Questions have threads of their own, so that a search never waits for a sync; index jobs take turns.
"""

from __future__ import annotations

import base64
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, BinaryIO, TypeVar

import orjson

from backends.base import BackendError, Failure, SyncReport
from backends.builtin import EmbeddingSpec, Estimate, IndexJob, Report, estimate, run_index_job
from backends.builtin.heartbeat import HEARTBEAT_S
from backends.embedding import Embedder, EmbeddingIdentity, EmbeddingUnavailableError, Vectors
from exporter import ExportJob, export_sessions
from sidecar.logs.relay import log_to_parent
from sidecar.sessions.burying import BuryJob, buried
from sidecar.sessions.scanning import ScanJob, scan
from sidecar.worker.models import Models
from sidecar.worker.turns import Turn

log = logging.getLogger(__name__)

NICENESS = 5
#: A query's embedding shares the interpreter with indexing; the default of 5 ms would be felt in every search.
SWITCH_INTERVAL_S = 0.0005
#: Operations that somebody waits for before anything else.
QUESTIONS = frozenset({"embed_query", "probe"})
#: Questions wait for a hosted model, not for each other.
MOST_QUESTIONS = 64
#: So many jobs may wait for their turn or for a hosted model, and say that they are alive; one computes.
MOST_JOBS = 64


class Replies:
    """Writes replies from all threads, one whole line at a time."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, **message: Any) -> None:
        """Send one line. Raises `BrokenPipeError` when the daemon is gone."""
        line = orjson.dumps(message, default=str) + b"\n"
        with self._lock:
            self._stream.write(line)
            self._stream.flush()


T = TypeVar("T")

MODELS = Models()
TURN = Turn()


def embed_query(args: dict[str, Any]) -> dict[str, Any] | None:
    """A query's vector as base64 of little-endian float32 and whose it is, or None without a semantic model."""
    return _vector(lambda: MODELS.embed_query(EmbeddingSpec.from_json(args["spec"]), args["text"]))


def probe(args: dict[str, Any]) -> dict[str, Any] | None:
    """The same for a word of our own, and for a provider that failed a moment ago."""
    return _vector(lambda: MODELS.probe(EmbeddingSpec.from_json(args["spec"])))


def _vector(ask: Callable[[], tuple[Vectors, EmbeddingIdentity] | None]) -> dict[str, Any] | None:
    try:
        asked = ask()
    except EmbeddingUnavailableError as error:
        raise BackendError(Failure.EMBEDDING, error.message, hint=error.hint, code=error.code) from error
    if asked is None:
        return None
    vector, identity = asked
    return {"vector": base64.b64encode(vector.astype("<f4").tobytes()).decode(), "identity": identity}


def index(args: dict[str, Any], report: Report) -> SyncReport:
    """Run one index job; every progress report is also a sign of life."""

    def waiting() -> None:
        report({"phase": "waiting"})

    def idle() -> AbstractContextManager[None]:
        return TURN.given_up(waiting)

    def embedder_for(spec: EmbeddingSpec) -> Embedder | None:
        with idle():
            return MODELS.get(spec)

    job = IndexJob.from_json(orjson.dumps(args))
    with TURN.taken(waiting):
        done = run_index_job(job, embedder_for=embedder_for, report=report, idle=idle)
    MODELS.doubt(job.options.embedding, done.embedding_failure)
    return done


def estimated(args: dict[str, Any], report: Report) -> Estimate:
    """What an index job would have to embed."""
    with TURN.taken(lambda: report({"phase": "waiting"})):
        return estimate(IndexJob.from_json(orjson.dumps(args)), report)


def told(report: Report, work: Callable[[Callable[[], None]], T]) -> T:
    """Work on transcripts and other files in turn; everything that was read is a sign of life, and some is told."""
    told_at = -HEARTBEAT_S

    def alive() -> None:
        nonlocal told_at
        if (at := time.monotonic()) >= told_at + HEARTBEAT_S:
            told_at = at
            report({"phase": "reading"})

    with TURN.taken(lambda: report({"phase": "waiting"})):
        return work(alive)


def serve(requests: BinaryIO, replies: Replies) -> None:
    """Answer until the requests end."""
    questions = ThreadPoolExecutor(MOST_QUESTIONS, thread_name_prefix="question")
    jobs = ThreadPoolExecutor(MOST_JOBS, thread_name_prefix="job")
    for line in requests:
        message = orjson.loads(line)
        pool = questions if message["op"] in QUESTIONS else jobs
        pool.submit(_answer, message, replies)


def _answer(message: dict[str, Any], replies: Replies) -> None:
    request_id, args = message["id"], message["args"]

    def report(progress: dict[str, Any]) -> None:
        replies.send(id=request_id, progress=progress)

    try:
        match message["op"]:
            case "embed_query":
                result: Any = embed_query(args)
            case "probe":
                result = probe(args)
            case "estimate":
                result = estimated(args, report)
            case "export":
                result = told(report, lambda alive: export_sessions(ExportJob(**args), alive))
            case "bury":
                result = told(report, lambda alive: buried(BuryJob.from_json(args), alive))
            case "scan":
                result = told(report, lambda alive: scan(ScanJob(**args), alive))
            case _:
                result = index(args, report)
    except BackendError as error:
        replies.send(id=request_id, error=_told(error))
    except BrokenPipeError:
        os._exit(0)
    except Exception as error:
        # The class and not the text: an exception may quote what it read.
        where = f"{type(error).__name__} in the worker"
        replies.send(id=request_id, error=_told(BackendError(Failure.EXITED, where)))
        log.exception("worker failed", extra={"fields": {"op": message["op"]}})
    else:
        replies.send(id=request_id, result=result)


def _told(error: BackendError) -> dict[str, str]:
    return {"failure": error.failure, "message": error.message, "hint": error.hint, "code": error.code}


def main() -> None:
    """Take over standard output for replies, step behind the daemon in priority, and serve."""
    replies = Replies(os.fdopen(os.dup(1), "wb"))
    # Whatever a library prints must not end up between two replies.
    os.dup2(2, 1)
    log_to_parent()
    os.nice(NICENESS)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    serve(sys.stdin.buffer, replies)
    # The daemon is gone: an index job in progress is safe to drop, a transaction is whole or absent.
    os._exit(0)


main()
