"""How a batch API is spoken: values and a protocol without any input or output.

A job is one submission of many texts. Texts are known by their digests, so that a job can be taken up by a process
that no longer holds the texts.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from backends.embedding.base import Vectors
from backends.embedding.remote.wire import Reply, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """What one job may hold: requests, and bytes of all their records with a byte between two of them."""

    requests: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Job:
    """A submitted job: its id at the provider, whose vectors it makes, its texts, and when it began (Unix seconds).

    `key` tells apart jobs of other models and accounts in one store.
    """

    id: str
    key: str
    digests: tuple[str, ...]
    submitted_at: float

    def to_json(self) -> dict[str, Any]:
        """Its fields, as JSON has them."""
        return {**asdict(self), "digests": list(self.digests)}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Job:
        """The job whose fields, as JSON has them, are `raw`."""
        return cls(raw["id"], raw["key"], tuple(raw["digests"]), raw["submitted_at"])


class Phase(StrEnum):
    """Where a job stands."""

    WAITING = "waiting"
    ENDED = "ended"
    FAILED = "failed"  # also expired or cancelled; what was done before may still be had


@dataclass(frozen=True, slots=True)
class State:
    """Where a job stands, and where its results are: in bodies at hand, or to be downloaded."""

    phase: Phase
    downloads: tuple[Request, ...] = ()
    bodies: tuple[bytes, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one text: its vector as the provider gave it, shape (dims,), or why it was refused."""

    digest: str
    vector: Vectors | None = field(default=None, repr=False)
    refused: str = ""


class BatchWire(Protocol):
    """One batch API for one model."""

    @property
    def limits(self) -> BatchLimits:
        """What one job may hold."""
        ...

    def record(self, digest: str, text: str) -> bytes:
        """The part of a job that asks for the vector of one text."""
        ...

    def submission(self, records: Sequence[bytes]) -> Generator[Request, Reply, str]:
        """The requests that submit a job, each sent after the successful reply to the one before; the job's id.

        Raises `RefusedError(REPLY)`.
        """
        ...

    def poll(self, job_id: str) -> Request:
        """The request for the state of a job."""
        ...

    def state(self, reply: Reply) -> State:
        """Where a job stands, by a successful reply to `poll`. Raises `RefusedError(REPLY)`."""
        ...

    def results(self, body: bytes) -> Iterator[Result]:
        """What a body of results says of texts; one that was not tried, or failed in passing, is left out.

        Raises `RefusedError(REPLY)`.
        """
        ...

    def cancellation(self, job_id: str) -> Request:
        """The request that ends a job before its time."""
        ...
