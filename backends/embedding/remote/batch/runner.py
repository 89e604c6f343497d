"""Runs the jobs of a batch API: submits, remembers, polls, collects, and says when batches do not work here.

A job is paid for once it is submitted, so it is saved before anything else happens and forgotten only after its
results were taken: a process that is killed in between finds it in the store and polls on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

import numpy as np

from backends.embedding.base import BatchSpec
from backends.embedding.remote.batch.wire import BatchWire, Job, Phase, Result, State
from backends.embedding.remote.refusals import judge
from backends.embedding.remote.wire import Credentials, RefusedError, Reply, Request, Send, Trouble

_LONGEST_PAUSE_S = 300.0
_FAILURES = 2
#: Results of a job are read into memory: 1,000 vectors of 3,072 numbers in decimal digits take 290 MB while parsed.
_JOB_TEXTS = 1_000
#: A page of a proxy, or half a file, among them: the job is paid for, and its next reply may be whole.
_PASSING = frozenset({Trouble.RATE, Trouble.SERVER, Trouble.NETWORK, Trouble.TIMEOUT, Trouble.REPLY})
#: No job and no direct call would fare better.
_HOPELESS = frozenset({Trouble.KEY, Trouble.QUOTA})


class JobStore(Protocol):
    """Keeps jobs beyond the life of a process."""

    def save(self, job: Job) -> None:
        """Keep a job; when this returns it survives a kill."""
        ...

    def load(self) -> list[Job]:
        """All jobs kept."""
        ...

    def forget(self, job: Job) -> None:
        """Keep a job no more."""
        ...


class BatchGivenUp(Exception):  # noqa: N818
    """Batches failed twice in a row: the texts without a result are to be embedded by direct calls."""


class BatchRunner:
    """The jobs of one model. `key` tells them apart from those of others in the store.

    `clock` gives Unix seconds.
    """

    def __init__(
        self,
        wire: BatchWire,
        credentials: Credentials,
        send: Send,
        store: JobStore,
        *,
        key: str,
        spec: BatchSpec,
        job_texts: int = _JOB_TEXTS,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._wire, self._credentials, self._send, self._store = wire, credentials, send, store
        self._key, self._spec, self._clock, self._sleep = key, spec, clock, sleep
        self._job_texts = min(job_texts, wire.limits.requests)
        self._failures = 0

    @property
    def has_jobs(self) -> bool:
        """Whether jobs of this model and account are in the store."""
        return any(job.key == self._key for job in self._store.load())

    def run(self, texts: Mapping[str, str]) -> Iterator[Result]:
        """Yield a result for each text by digest, as jobs end: a unit vector, or why it was refused.

        Jobs of an earlier process are taken up first. Without `wait`, what has not ended is left to a later run.
        Raises `BatchGivenUp` when two jobs in a row failed and texts are left, once no job is under way; and
        `RefusedError` for a refused key or an exhausted quota.
        """
        running = [job for job in self._store.load() if job.key == self._key]
        left = dict(texts)
        for job in running:
            _take(left, job.digests)
        yield from self._too_large(left)
        pause = self._spec.poll_interval_s
        while True:
            self._submit(running, left)
            ended = [(job, results) for job in running if (results := self._collected(job)) is not None]
            for job, results in ended:
                running.remove(job)
                missing = yield from self._closed(job, results)
                left |= {digest: texts[digest] for digest in missing if digest in texts}
            if not running and (not left or self._failures >= _FAILURES):
                break
            if not self._spec.wait:
                return
            if ended and not self._failures:
                pause = self._spec.poll_interval_s
                continue
            self._sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_S)
        if left:
            raise BatchGivenUp("Batches failed twice in a row.")

    def _submit(self, running: list[Job], left: dict[str, str]) -> None:
        while left and len(running) < self._spec.concurrency and self._failures < _FAILURES:
            digests, records = self._next(left)
            try:
                job = Job(self._submitted(records), self._key, digests, self._clock())
            except RefusedError as refused:
                self._failed(refused)
                return
            self._store.save(job)
            _take(left, digests)
            running.append(job)

    def _too_large(self, left: dict[str, str]) -> Iterator[Result]:
        """Take out the texts that no job has room for."""
        # A character is at most 6 bytes of JSON, so that only very long texts need to be written out here.
        long = [digest for digest, text in left.items() if len(text) * 6 > self._wire.limits.bytes // 2]
        for digest in long:
            if len(self._wire.record(digest, left[digest])) > self._wire.limits.bytes:
                _take(left, [digest])
                yield Result(digest, refused="larger than a job")

    def _next(self, left: Mapping[str, str]) -> tuple[tuple[str, ...], list[bytes]]:
        """The first texts that together fit into a job."""
        digests: list[str] = []
        records: list[bytes] = []
        size = -1
        for digest, text in left.items():
            record = self._wire.record(digest, text)
            size += 1 + len(record)
            if size > self._wire.limits.bytes or len(records) == self._job_texts:
                break
            digests.append(digest)
            records.append(record)
        return tuple(digests), records

    def _submitted(self, records: Sequence[bytes]) -> str:
        steps = self._wire.submission(records)
        request = next(steps)
        while True:
            try:
                request = steps.send(self._successful(request))
            except StopIteration as done:
                return str(done.value)

    def _collected(self, job: Job) -> list[Result] | None:
        """The results of a job that is over, None while it runs. Passing troubles are met by the next poll."""
        try:
            state = self._wire.state(self._successful(self._wire.poll(job.id)))
            if state.phase is not Phase.WAITING:
                return self._results(state)
        except RefusedError as refused:
            if refused.trouble in _HOPELESS:
                raise
            if refused.trouble not in _PASSING:
                return []
        if self._clock() - job.submitted_at < self._spec.timeout_s:
            return None
        # Another job would wait as long: one that runs out of time counts for both failures.
        self._failures = _FAILURES
        with suppress(RefusedError):
            self._successful(self._wire.cancellation(job.id))
        return []

    def _results(self, state: State) -> list[Result]:
        bodies = [*state.bodies, *(self._successful(request).body for request in state.downloads)]
        return [_unit(result) for body in bodies for result in self._wire.results(body)]

    def _closed(self, job: Job, results: Sequence[Result]) -> Generator[Result, None, set[str]]:
        """Yield the results of a job and forget it; the digests for which there was none."""
        missing = set(job.digests)
        for result in results:
            if result.digest in missing:
                missing.remove(result.digest)
                yield result
        self._store.forget(job)
        if missing:
            self._failures += 1
        elif self._failures < _FAILURES:
            self._failures = 0
        return missing

    def _failed(self, refused: RefusedError) -> None:
        if refused.trouble in _HOPELESS:
            raise refused
        self._failures += 1

    def _successful(self, request: Request) -> Reply:
        """The successful reply to a request. Raises `RefusedError`."""
        reply = self._send(self._credentials.signed(request, self._send))
        if reply.status == 401 and self._credentials.renewed():
            reply = self._send(self._credentials.signed(request, self._send))
        if not 200 <= reply.status < 300:
            raise judge(reply)
        return reply


def _take(left: dict[str, str], digests: Sequence[str]) -> None:
    for digest in digests:
        left.pop(digest, None)


def _unit(result: Result) -> Result:
    if result.vector is None:
        return result
    norm = np.linalg.norm(result.vector)
    if not np.isfinite(norm):
        return Result(result.digest, refused="no finite numbers")
    return replace(result, vector=result.vector / norm) if norm else result
